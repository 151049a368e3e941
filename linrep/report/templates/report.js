"use strict";
(() => {
  const root = document.documentElement;
  const form = document.getElementById("filters");
  const names = ["q", "paper", "kind", "verdict", "result"];
  const claims = [...document.querySelectorAll(".claim")].map((element) => ({
    element,
    text: element.textContent.toLowerCase(),
  }));
  const papers = [...document.querySelectorAll(".paper")];
  const field = (name) => form.elements.namedItem(name);

  function filter() {
    const words = field("q").value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { element, text } of claims) {
      const chosen = names.slice(1).every((name) => {
        const value = field(name).value;
        return !value || element.dataset[name].split("; ").includes(value);
      });
      element.hidden = !(chosen && words.every((word) => text.includes(word)));
      shown += !element.hidden;
    }
    for (const paper of papers) {
      paper.hidden = !paper.querySelector(".claim:not([hidden])");
    }
    document.getElementById("nothing").hidden = shown > 0;
    document.getElementById("shown").textContent =
      shown === claims.length ? `${shown} claims` : `${shown} of ${claims.length} claims`;
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

  function follow() {
    const hash = location.hash.slice(1);
    if (hash.includes("=")) {
      const pairs = new URLSearchParams(hash);
      for (const name of names) {
        field(name).value = pairs.get(name) || "";
        if (field(name).selectedIndex === -1) field(name).value = "";
      }
      filter();
      document.getElementById("claims").scrollIntoView();
      return;
    }
    let id = hash;
    try { id = decodeURIComponent(hash); } catch { /* not an address of ours */ }
    const target = id && document.getElementById(id);
    if (!target || !target.matches(".claim")) return;
    if (target.hidden) {
      clear();
      filter();
    }
    target.querySelector("details").open = true;
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  }

  function open(value) {
    for (const { element } of claims) {
      if (!element.hidden) element.querySelector("details").open = value;
    }
  }

  for (const kind of ["input", "change"]) {
    form.addEventListener(kind, () => { filter(); keep(); });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => { event.preventDefault(); clear(); filter(); keep(); });
  document.getElementById("reset").addEventListener("click", () => { form.reset(); field("q").focus(); });
  document.getElementById("expand").addEventListener("click", () => open(true));
  document.getElementById("collapse").addEventListener("click", () => open(false));
  addEventListener("hashchange", follow);

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

  const themes = { "": "as the system", light: "light", dark: "dark" };
  const button = document.getElementById("theme");
  function dress(theme) {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    button.textContent = `Theme: ${themes[theme]}`;
  }
  // Where pages may store nothing, the choice lasts as long as the page.
  const memory = {
    get() { try { return localStorage.getItem("linrep-theme") || ""; } catch { return ""; } },
    set(value) { try { localStorage.setItem("linrep-theme", value); } catch { /* as said */ } },
  };
  button.addEventListener("click", () => {
    const order = Object.keys(themes);
    const next = order[(order.indexOf(root.dataset.theme || "") + 1) % order.length];
    dress(next);
    memory.set(next);
  });
  dress(memory.get() in themes ? memory.get() : "");

  // On paper everything is open.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const element of closed) element.open = true;
  });
  addEventListener("afterprint", () => {
    for (const element of closed) element.open = false;
  });

  filter();
  follow();
})();
