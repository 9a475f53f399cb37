// Makes the auditor's pages quicker; everything works without it, by plain links and forms.
(() => {
  "use strict";
  const find = (id) => document.getElementById(id);

  // Times are written in UTC by the server, and turned into the reader's own.
  const clock = new Intl.DateTimeFormat("en-GB", {
    day: "numeric", month: "long", year: "numeric",
    hour: "2-digit", minute: "2-digit", timeZoneName: "short",
  });
  function localise(root) {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const then = new Date(time.dateTime);
      if (!Number.isNaN(then.valueOf())) time.textContent = clock.format(then).replace(" at ", ", ");
    }
  }
  localise(document);

  if (!find("workspace")) return;
  const keys = find("keys");
  const keysOn = find("keys-on");
  const STORE = "likewise-keys";

  // Browsers may refuse storage; the switch then lasts as long as the page.
  function remembered() {
    try { return localStorage.getItem(STORE) !== "off"; } catch { return true; }
  }
  function remember(on) {
    try { localStorage.setItem(STORE, on ? "on" : "off"); } catch { /* nothing to do */ }
  }
  keysOn.checked = remembered();
  keys.classList.toggle("off", !keysOn.checked);
  keys.hidden = false;
  keysOn.addEventListener("change", () => {
    remember(keysOn.checked);
    keys.classList.toggle("off", !keysOn.checked);
  });

  function say(text) { find("said").textContent = text; }
  function alarm(text) {
    find("alarm").textContent = text;
    find("alarm").hidden = !text;
    if (text) find("alarm").scrollIntoView({ block: "nearest" });
  }

  const press = (id) => () => find(id)?.click();
  const go = (id) => () => find(id)?.focus();
  const actions = {
    j: press("next"), ArrowRight: press("next"),
    k: press("previous"), ArrowLeft: press("previous"),
    f: press("flag"), u: press("unflag"), r: go("reason"), d: go("done"),
  };

  function typing(target) {
    return target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox])");
  }

  document.addEventListener("keydown", (event) => {
    const target = event.target instanceof Element ? event.target : document.body;
    if (target.id === "reason") {
      if (event.key === "Escape") find("pair-heading").focus();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) find("flag-form").requestSubmit();
      return;
    }
    if (!keysOn.checked || typing(target) || event.defaultPrevented) return;
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    // Arrows scroll a table that has the focus.
    if (event.key.startsWith("Arrow") && target.closest(".scroll")) return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });

  // "Finish" on the last pair leads to a place on this page; the focus goes with it.
  document.addEventListener("click", (event) => {
    if (event.target.closest?.('a[href="#finish"]')) find("finish").focus();
  });

  let warned = false;
  document.addEventListener("htmx:beforeRequest", (event) => {
    const reason = find("reason");
    const unsaved = reason && reason.value.trim() !== reason.defaultValue.trim();
    if (event.target.matches("a") && unsaved && !warned) {
      event.preventDefault();
      warned = true;
      alarm("Your reason is not saved yet. Flag the pair to keep it, or go on once more to drop it.");
      return;
    }
    warned = false;
    alarm("");
  });

  document.addEventListener("htmx:beforeSwap", (event) => {
    const page = new DOMParser().parseFromString(event.detail.serverResponse, "text/html");
    if (event.detail.isError) {
      const sentence = page.getElementById("problem")?.textContent.trim();
      alarm(sentence || "That was not saved. Load the page again, and try once more.");
    } else if (!page.getElementById("workspace")) {
      // The server sent us elsewhere, for example to sign in again.
      event.detail.shouldSwap = false;
      location.assign(event.detail.xhr.responseURL);
    }
  });
  document.addEventListener("htmx:sendError", () => {
    alarm("That was not saved: the server cannot be reached. Check your connection, and try once more.");
  });

  document.addEventListener("htmx:afterSettle", (event) => {
    localise(find("workspace"));
    const moved = event.detail.requestConfig?.verb === "get";
    if (moved) {
      find("pair-heading").focus({ preventScroll: true });
      say("");
    } else {
      (find("unflag") || find("flag"))?.focus({ preventScroll: true });
      say(find("unflag") ? "Flagged." : "Not flagged any more.");
    }
    const progress = document.querySelector("#pair .progress");
    if (progress) say(`${find("said").textContent} ${progress.textContent}`.trim());
  });
})();
