"use strict";
(() => {
  const form = document.getElementById("filters");
  const names = ["q", "paper", "verdict", "severity", "form"];
  const field = (name) => form.elements.namedItem(name);
  const items = [...document.querySelectorAll(".item")];

  // What is searched: p² and p^2, p=1 and p = 1 are the same.
  const plain = (text) => text.normalize("NFKC").toLowerCase().replace(/[\u2212\u2013]/g, "-")
    .replace(/[\^_]/g, "").replace(/\s*([=<>≤≥])\s*/g, " $1 ").replace(/\s+/g, " ").trim();
  const texts = new Map();
  function text(item) {
    if (!texts.has(item)) texts.set(item, plain(`${item.id} ${item.dataset.paper} ${item.textContent}`));
    return texts.get(item);
  }

  function filter() {
    // The phrase, or else all its words.
    const phrase = plain(field("q").value);
    const words = items.some((item) => text(item).includes(phrase)) ? [phrase] : phrase.split(" ");
    const wanted = names.slice(1).filter((name) => field(name).value);
    const active = phrase !== "" || wanted.length > 0;
    for (const item of items) {
      const fits = wanted.every((name) => item.dataset[name] === field(name).value);
      item.hidden = !(fits && words.every((word) => text(item).includes(word)));
    }
    document.body.classList.toggle("filtered", active);
    for (const part of document.querySelectorAll(".part, .paper, #figures")) {
      part.hidden = !part.querySelector(".item:not([hidden])");
    }
    const claims = items.filter((item) => item.matches(".claim"));
    const shown = claims.filter((item) => !item.hidden).length;
    document.getElementById("shown").textContent = active ? `${shown} of ${claims.length} claims` : `${shown} claims`;
  }

  // The address keeps the filters, so that what is shown can be passed on.
  function keep() {
    const pairs = names.filter((name) => field(name).value).map((name) => [name, field(name).value]);
    const hash = new URLSearchParams(pairs).toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  function choose(pairs) {
    for (const name of names) {
      field(name).value = pairs.get(name) || "";
      if (field(name).selectedIndex === -1) field(name).value = "";
    }
    filter();
  }

  function follow() {
    const hash = location.hash.slice(1);
    if (hash.includes("=")) {
      choose(new URLSearchParams(hash));
      form.scrollIntoView();
      return;
    }
    let id = hash;
    try { id = decodeURIComponent(hash); } catch { /* not an address of ours */ }
    const target = document.getElementById(id);
    if (!target?.matches(".item")) return;
    if (target.hidden) choose(new Map());
    target.querySelector(":scope > details").open = true;
    target.scrollIntoView();
    target.querySelector("summary").focus({ preventScroll: true });
  }

  form.addEventListener("input", () => { filter(); keep(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => { event.preventDefault(); choose(new Map()); keep(); });
  addEventListener("hashchange", follow);

  async function unpack(drawing) {
    const bytes = Uint8Array.from(atob(drawing.dataset.svg), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const image = document.createElement("img");
    image.src = `data:image/svg+xml,${encodeURIComponent(await new Response(stream).text())}`;
    image.alt = drawing.dataset.alt;
    image.width = parseInt(drawing.style.width, 10);
    image.height = parseInt(drawing.style.height, 10);
    drawing.replaceWith(image);
  }
  addEventListener("load", async () => {
    for (const drawing of document.querySelectorAll(".drawing")) await unpack(drawing);
  });

  // On paper findings and statements are open.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll(".item > details:not([open])")];
    for (const element of closed) element.open = true;
  });
  addEventListener("afterprint", () => {
    for (const element of closed) element.open = false;
  });

  filter();
  follow();
})();
