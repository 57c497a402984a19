// The pause of the moving picture, and boxes that scroll reached by keyboard.

function pauseButton(figure) {
  const button = figure.querySelector(".pause");
  button.hidden = matchMedia("(prefers-reduced-motion: reduce)").matches;
  button.addEventListener("click", () => {
    button.textContent = figure.classList.toggle("paused") ? "Play" : "Pause";
  });
}

function reachable(box) {
  if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("figure.pipeline").forEach(pauseButton);
  const boxes = "div.cell_output, div.cell_output .output, div.cell_output pre, div.highlight pre, "
    + ".pst-scrollable-table-container, article p:has(> img)";
  const look = () => document.querySelectorAll(boxes).forEach(reachable);
  look();
  addEventListener("resize", look);
  addEventListener("toggle", look, true);  // what was folded has a width now
});
