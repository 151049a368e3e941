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
    of: element.dataset.of.split(";").map((each) => each.split("/")),
  }));
  const total = items.filter(({ element }) => element.matches(".claim")).length;

  // What is searched: p² and p^2, V_k and V with an index, p=1 and p = 1 are the same.
  const plain = (text) => text.normalize("NFKC").toLowerCase().replace(/[\u2212\u2013]/g, "-")
    .replace(/[\^_]/g, "").replace(/\s*([=<>≤≥])\s*/g, " $1 ").replace(/\s+/g, " ").trim();
  function contents(element) {
    const texts = [element.id, element.dataset.paper];
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    let small = null;
    while (walker.nextNode()) {
      const before = small;
      small = walker.currentNode.parentElement.closest("sub, sup");
      texts.push(small || before ? "" : " ", walker.currentNode.data);
    }
    return plain(texts.slice(0, 2).join(" ") + texts.slice(2).join(""));
  }
  // Words are found from their beginning; numbers and single letters are found whole.
  function matcher(words) {
    const source = words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const begin = /^\d/.test(words) ? "(?<![\\p{L}\\d]|\\d\\.)" : /^\p{L}/u.test(words) ? "(?<!\\p{L})" : "";
    const end = /\d$/.test(words) ? "(?!\\d|\\.\\d)" : /(^|[^\p{L}])\p{L}$/u.test(words) && words.length === 1
      ? "(?![\\p{L}\\d])" : "";
    const pattern = new RegExp(begin + source + end, "u");
    return (text) => pattern.test(text);
  }

  let wide = false; // whether what has all the words is shown beside what has the phrase
  function filter() {
    const phrase = plain(search.value);
    const words = phrase.split(" ").filter(Boolean);
    const wanted = ["verdict", "severity", "strength"].map((name) => field(name).value);
    const paper = field("paper").value;
    const active = words.length > 0 || Boolean(paper) || wanted.some(Boolean);
    const fits = (values) => wanted.every((value, place) => !value || value === values[place]);
    let found = items.filter(({ element, of }) => (!paper || element.dataset.paper === paper) && of.some(fits));
    let more = 0;
    if (words.length) {
      for (const item of items) item.text ??= contents(item.element);
      const each = words.map(matcher);
      const whole = matcher(phrase);
      const loose = found.filter(({ text }) => each.every((matches) => matches(text)));
      const exact = loose.filter(({ text }) => whole(text));
      const claims = (some) => some.filter(({ element }) => element.matches(".claim")).length;
      found = exact.length && !wide ? exact : loose;
      more = claims(loose) - claims(found);
    }
    const kept = new Set(found);
    for (const item of items) item.element.hidden = !kept.has(item);
    const shown = found.filter(({ element }) => element.matches(".claim")).length;
    body.classList.toggle("filtered", active);
    for (const part of document.querySelectorAll(".part")) part.hidden = !part.querySelector(".item:not([hidden])");
    for (const part of document.querySelectorAll(".paper")) part.hidden = !part.querySelector(".part:not([hidden])");
    document.getElementById("nothing").hidden = found.length > 0;
    document.getElementById("more").hidden = more === 0;
    document.getElementById("phrase").textContent = search.value.trim();
    document.getElementById("wider").textContent = `Show ${more} more with all of its words`;
    document.getElementById("shown").textContent = active ? `${shown} of ${total} claims` : `${total} claim${total === 1 ? "" : "s"}`;
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
    form.addEventListener(kind, () => { wide = false; filter(); keep(); });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => { event.preventDefault(); clear(); filter(); keep(); });
  document.getElementById("reset").addEventListener("click", () => { form.reset(); search.focus(); });
  document.getElementById("wider").addEventListener("click", () => { wide = true; filter(); search.focus(); });
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
