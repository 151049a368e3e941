"use strict";
(() => {
  const { body } = document;
  const form = document.getElementById("filters");
  const search = form.elements.namedItem("q");
  const names = ["q", "paper", "verdict", "severity", "strength"];
  const field = (name) => form.elements.namedItem(name);
  // Theorems, findings and claims; what they are about is verdict/severity/strength of each claim.
  const items = [...document.querySelectorAll(".item")].map((element) => ({
    element,
    text: `${element.id} ${element.textContent}`.toLowerCase(),
    of: element.dataset.of.split(";").map((each) => each.split("/")),
  }));
  const total = items.filter(({ element }) => element.matches(".claim")).length;

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = ["verdict", "severity", "strength"].map((name) => field(name).value);
    const paper = field("paper").value;
    const active = words.length > 0 || Boolean(paper) || wanted.some(Boolean);
    let shown = 0;
    for (const { element, text, of } of items) {
      const fits = (values) => wanted.every((value, place) => !value || value === values[place]);
      element.hidden = !((!paper || element.dataset.paper === paper)
        && of.some(fits) && words.every((word) => text.includes(word)));
      shown += !element.hidden && element.matches(".claim");
    }
    body.classList.toggle("filtered", active);
    for (const part of document.querySelectorAll(".part")) part.hidden = !part.querySelector(".item:not([hidden])");
    for (const part of document.querySelectorAll(".paper")) part.hidden = !part.querySelector(".part:not([hidden])");
    document.getElementById("nothing").hidden = shown > 0;
    document.getElementById("shown").textContent = active ? `${shown} of ${total} claims` : `${total} claims`;
  }

  function clear() {
    for (const name of names) field(name).value = "";
  }

  // The address keeps the filters, so that what is shown can be passed on.
  function keep() {
    const pairs = names.filter((name) => field(name).value).map((name) => [name, field(name).value]);
    const hash = new URLSearchParams(pairs).toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  function unfold(element) {
    for (let each = element.parentElement; each; each = each.parentElement) {
      if (each.matches("details")) each.open = true;
    }
    const own = element.querySelector(":scope > details");
    if (own) own.open = true;
  }

  function follow() {
    const hash = location.hash.slice(1);
    if (hash.includes("=")) {
      const pairs = new URLSearchParams(hash);
      for (const name of names) {
        field(name).value = pairs.get(name) || "";
        if (field(name).selectedIndex === -1) field(name).value = "";
      }
      filter();
      form.scrollIntoView();
      return;
    }
    let id = hash;
    try { id = decodeURIComponent(hash); } catch { /* not an address of ours */ }
    const target = id && document.getElementById(id);
    if (!target || !target.matches(".item, .figure")) return;
    if (target.hidden) {
      clear();
      filter();
    }
    unfold(target);
    body.querySelector(".at")?.classList.remove("at");
    target.classList.add("at");
    target.scrollIntoView();
    (target.querySelector("h4, summary") || target).focus({ preventScroll: true });
  }

  for (const kind of ["input", "change"]) {
    form.addEventListener(kind, () => { filter(); keep(); });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => { event.preventDefault(); clear(); filter(); keep(); });
  document.getElementById("reset").addEventListener("click", () => { form.reset(); search.focus(); });
  addEventListener("hashchange", follow);
  // A link to where the address is already leads there again.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) follow();
  });

  // Keys. Letters can be switched off, for those who speak to their computer.
  const keys = document.getElementById("keys");
  const lines = () => [...document.querySelectorAll(".item:not([hidden])")]
    .map((element) => element.querySelector(":scope > details > summary, :scope h4"))
    .filter((line) => line.checkVisibility());
  function go(step) {
    const all = lines();
    const here = document.activeElement.closest(".item");
    const place = here ? all.findIndex((line) => line.closest(".item") === here) : -1;
    const next = here ? all[place + step]
      : all.find((line) => line.getBoundingClientRect().top > form.getBoundingClientRect().bottom);
    if (!next) return;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key, target } = event;
    if (target.matches("select")) return;
    if (target.matches("input")) {
      if (target !== search) return;
      if (key === "Escape") { clear(); filter(); keep(); search.blur(); }
      else if (key === "ArrowDown" || key === "Enter") { event.preventDefault(); lines()[0]?.focus(); }
      return;
    }
    const item = target.closest(".item");
    const down = key === "ArrowDown" && target.matches("summary, h4");
    const up = key === "ArrowUp" && target.matches("summary, h4");
    if (key === "Escape") {
      const open = item?.querySelector(":scope > details[open]");
      if (open) { open.open = false; open.querySelector("summary").focus(); }
    } else if (down || (keys.checked && key === "j")) {
      event.preventDefault();
      go(1);
    } else if (up || (keys.checked && key === "k")) {
      event.preventDefault();
      go(-1);
    } else if (keys.checked && key === "/") {
      event.preventDefault();
      search.focus();
      search.select();
    }
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".copy");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed here";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  // Figures are unpacked when the page is idle: none is seen before it is unfolded.
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

  const themes = { "": "as the system", light: "light", dark: "dark" };
  const button = document.getElementById("theme");
  function dress(theme) {
    if (theme) body.dataset.theme = theme; else delete body.dataset.theme;
    button.textContent = `Theme: ${themes[theme]}`;
  }
  // Where pages may store nothing, the choice lasts as long as the page.
  const memory = {
    get(name) { try { return localStorage.getItem(name) || ""; } catch { return ""; } },
    set(name, value) { try { localStorage.setItem(name, value); } catch { /* as said */ } },
  };
  button.addEventListener("click", () => {
    const order = Object.keys(themes);
    const next = order[(order.indexOf(body.dataset.theme || "") + 1) % order.length];
    dress(next);
    memory.set("linrep-theme", next);
  });
  const theme = memory.get("linrep-theme");
  dress(theme in themes ? theme : "");
  keys.checked = memory.get("linrep-keys") !== "off";
  keys.addEventListener("change", () => memory.set("linrep-keys", keys.checked ? "on" : "off"));

  // On paper theorems, findings and statements are open, raw numbers are not.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open], .raw, .legend)")];
    for (const element of closed) element.open = true;
  });
  addEventListener("afterprint", () => {
    for (const element of closed) element.open = false;
  });

  filter();
  follow();
})();
