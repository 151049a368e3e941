"use strict";
(() => {
  const { body } = document;
  const form = document.getElementById("filters");
  const search = form.elements.namedItem("q");
  const names = ["q", "paper", "verdict", "severity", "strength", "form"];
  const field = (name) => form.elements.namedItem(name);
  // Theorems, findings, claims, figures, and other parts of the page, which only a search shows.
  // What they are about is verdict/severity/strength/form of each claim.
  const items = [...document.querySelectorAll(".item")].map((element) => ({
    element,
    of: element.dataset.of.split(";").map((each) => each.split("/")),
  }));
  const total = items.filter(({ element }) => element.matches(".claim")).length;

  // What is searched: p² and p^2, V_k and V with an index, p=1 and p = 1 are the same.
  const plain = (text) => text.normalize("NFKC").toLowerCase().replace(/[\u2212\u2013]/g, "-")
    .replace(/[\^_]/g, "").replace(/\s*([=<>≤≥])\s*/g, " $1 ").replace(/\s+/g, " ").trim();
  function contents(element) {
    const texts = [element.id, element.dataset.paper, element.dataset.words ?? ""];
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    let small = null;
    while (walker.nextNode()) {
      const before = small;
      small = walker.currentNode.parentElement.closest("sub, sup");
      texts.push(small || before ? "" : " ", walker.currentNode.data);
    }
    return plain(texts.slice(0, 3).join(" ") + texts.slice(3).join(""));
  }
  // Words that ask, and say nothing of what is asked for.
  const empty = new Set(("an and are at be by can do does draw for from has have how in is it me of on or plot show that " +
    "the there they this to was what when where which who why with").split(" "));
  // What an item is called, which counts more than what it says.
  const named = ".head, .why, h5, :scope > details > summary";
  const kinds = [".theorem", ".guide", ".figure", ".finding", ".claim"]; // the first come first
  function read(item) {
    const { element } = item;
    const other = document.getElementById(element.dataset.index || "");
    item.text = contents(element) + (other ? contents(other) : "");
    const paper = element.closest(".paper")?.querySelector("h2").textContent ?? "";
    const words = [element.id, element.dataset.words ?? "", paper];
    item.name = plain([...words, ...[...element.querySelectorAll(named)].map(contents)].join(" "));
    item.kind = 1 - kinds.findIndex((kind) => element.matches(kind)) / kinds.length;
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
  let best = []; // of what a search finds
  const gallery = document.querySelector("#figures > details");
  let unfolded = false; // by a search
  const part = (id) => document.getElementById(id);

  // What a search finds among items: the phrase, or all its words, or else most of them.
  function look(among, phrase) {
    for (const item of items) if (item.text === undefined) read(item);
    const all = phrase.split(" ");
    const words = all.filter((word) => !empty.has(word));
    const each = (words.length ? words : all).map(matcher);
    const ends = [all.indexOf(words[0]), all.lastIndexOf(words.at(-1)) + 1];
    const whole = matcher(words.length ? all.slice(...ends).join(" ") : phrase);
    const count = (text) => each.filter((matches) => matches(text)).length;
    const score = ({ text, name, kind }) => 4 * whole(name) + 2 * (count(name) / each.length) + whole(text) + kind;
    const counts = new Map(among.map((item) => [item, count(item.text)]));
    const most = Math.max(0, ...counts.values());
    const loose = most ? among.filter((item) => counts.get(item) === most) : [];
    const exact = loose.filter(({ text }) => whole(text));
    const found = exact.length && !wide ? exact : loose;
    const scores = new Map(found.map((item) => [item, score(item)]));
    best = [...found].sort((a, b) => scores.get(b) - scores.get(a)).slice(0, 3);
    return { found, more: loose.length - found.length, partly: most < each.length };
  }

  function filter() {
    const phrase = plain(search.value.replace(/\?+\s*$/, ""));
    const wanted = names.slice(2).map((name) => field(name).value);
    const paper = field("paper").value;
    const active = Boolean(phrase || paper) || wanted.some(Boolean);
    const fits = (values) => wanted.every((value, place) => !value || value === values[place]);
    const among = items.filter(({ element, of }) => (!paper || element.dataset.paper === paper) && of.some(fits));
    best = [];
    const { found, more, partly } = phrase ? look(among, phrase)
      : { found: among.filter(({ element }) => !element.matches(".guide")), more: 0, partly: false };
    const kept = new Set(found);
    for (const item of items) item.element.hidden = !kept.has(item);
    const shown = found.filter(({ element }) => element.matches(".claim")).length;
    body.classList.toggle("filtered", active);
    for (const each of document.querySelectorAll(".part")) each.hidden = !each.querySelector(".item:not([hidden])");
    for (const each of document.querySelectorAll(".paper")) each.hidden = !each.querySelector(".part:not([hidden])");
    if (gallery) {
      const some = found.some(({ element }) => element.matches(".figure"));
      part("figures").hidden = !some;
      if (phrase && some && !gallery.open) gallery.open = unfolded = true;
      else if (!phrase && unfolded) gallery.open = unfolded = false;
    }
    part("nothing").hidden = !(phrase && partly) && found.length > 0;
    part("how").textContent = found.length ? "Nothing has all of these words; what has most of them is shown." : "Nothing matches.";
    part("more").hidden = more === 0;
    part("phrase").textContent = search.value.trim();
    part("wider").textContent = `Show ${more} more with all of its words`;
    part("shown").textContent = phrase ? `${found.length} found`
      : active ? `${shown} of ${total} claims` : `${total} claim${total === 1 ? "" : "s"}`;
    const links = found.length > 1 ? best.map(({ element }) => {
      const link = document.createElement("a");
      link.href = `#${encodeURIComponent(element.id)}`;
      link.append(...title(element));
      return link;
    }) : [];
    part("best").replaceChildren(...links.flatMap((link, place) => [place ? " · " : "First: ", link]));
    part("best").hidden = links.length === 0;
  }

  // How an item is called in a list of what was found: a theorem with its paper, a claim by its id.
  function title(element) {
    if (element.matches(".claim")) return [element.id];
    const copy = (each) => [...each.cloneNode(true).childNodes];
    const paper = element.matches(".theorem") ? [...copy(element.closest(".paper").querySelector("h2")), ", "] : [];
    return [...paper, ...copy(element.querySelector(element.matches(".figure") ? ".name" : "h4, .plain"))];
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
    const target = document.getElementById(id);
    if (target?.matches("#legend, #run")) (target.closest("details") ?? target.querySelector("details")).open = true;
    if (!target || !target.matches(".item")) return;
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

  let typed = search.value;
  for (const kind of ["input", "change"]) {
    form.addEventListener(kind, (event) => {
      // The box says once more what it holds when it is left: what is being clicked must not move.
      if (kind === "change" && event.target === search && search.value === typed) return;
      typed = search.value;
      wide = false; filter(); keep(); reveal();
    });
  }
  // Where what was found lies below the fold, or above, it is scrolled to.
  function reveal() {
    const { top } = part("claims").getBoundingClientRect();
    if (body.matches(".filtered") && (top < 0 || top > innerHeight / 2)) part("claims").scrollIntoView();
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
  const line = (element) => element.querySelector(":scope > details > summary, :scope h4");
  const lines = () => [...document.querySelectorAll(".item:not([hidden])")].map(line)
    .filter((each) => each.checkVisibility());
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
      else if (key === "ArrowDown" || key === "Enter") {
        event.preventDefault();
        const first = key === "Enter" && best.length ? line(best[0].element) : lines()[0];
        first?.focus({ preventScroll: true });
        first?.scrollIntoView({ block: "nearest" });
      }
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

  const themes = { "": "follow the system", light: "light", dark: "dark" };
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
