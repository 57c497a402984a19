"""Small kernels of our own after public reports of bugs, faulty and mended: what the microscope says of each."""
