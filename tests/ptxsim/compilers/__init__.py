r"""Kernels of other compilers than NVIDIA's, as the PTX that these made: right ones, and each with one fault planted.

`ptx/` holds the texts; the *_kernels.py are their sources, one a compiler, and make them anew:

    python -m venv build/compilers
    build/compilers/bin/pip install numpy triton==3.9.0 numba-cuda==0.30.4 nvidia-cuda-nvcc nvidia-cuda-nvrtc \
        warp-lang==1.19.0 nvidia-cutlass-dsl==4.8.1 pyptx==0.1.1
    for name in triton numba warp cute pyptx; do
        build/compilers/bin/python -m tests.ptxsim.compilers.${name}_kernels
    done

None of them needs a GPU. They are no dependency of the course: the tests read the texts.
"""
