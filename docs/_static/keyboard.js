// What scrolls sideways can be reached and scrolled by keyboard; captions of the sidebar have a level.
addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll("pre, .table-wrapper, div.math, .cell_output"))
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  for (const caption of document.querySelectorAll("p.caption[role=heading]")) caption.ariaLevel = 2;
  document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "Site");
  document.querySelector("aside.toc-drawer")?.setAttribute("aria-label", "This page");
});
