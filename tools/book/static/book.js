// Boxes that scroll: reached by keyboard, and with a hint while more is hidden.

const BOXES = "div.cell_output, div.cell_output .output, div.cell_output pre, div.highlight pre, "
  + ".pst-scrollable-table-container, article p:has(> img)";

function shade(box) {
  box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
}

function reachable(box) {
  if (box.scrollWidth <= box.clientWidth + 1) {
    box.classList.remove("more");
    if (box.scrollHeight > box.clientHeight) box.tabIndex = 0;
    return;
  }
  if (!box.dataset.scrolls) box.addEventListener("scroll", () => shade(box), { passive: true });
  box.dataset.scrolls = box.tabIndex = 0;
  shade(box);
}

// An arrow beside a lesson in the list at the side has no words of its own.
function name(arrow) {
  arrow.setAttribute("aria-label", `Pages of ${arrow.closest("li").querySelector("a").textContent}`);
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".bd-sidebar-primary summary").forEach(name);
  const look = () => document.querySelectorAll(BOXES).forEach(reachable);
  look();
  document.fonts.ready.then(look);
  addEventListener("resize", look);
  addEventListener("toggle", look, true);  // what was folded has a width now
});
