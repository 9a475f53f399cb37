// The auditor's pages; everything works without it, by plain links and forms. With it no key waits
// for the network: what is pressed is shown at once, queued, and sent in order until it is saved.
(() => {
  "use strict";
  const find = (id) => document.getElementById(id);

  // Times are written in UTC by the server, and turned into the reader's own.
  const clock = new Intl.DateTimeFormat("en-GB", {
    day: "numeric", month: "long", year: "numeric",
    hour: "2-digit", minute: "2-digit", timeZoneName: "short",
  });
  for (const time of document.querySelectorAll("time[datetime]")) {
    const then = new Date(time.dateTime);
    if (!Number.isNaN(then.valueOf())) time.textContent = clock.format(then).replace(" at ", ", ");
  }

  const source = find("review-data");
  if (!source) return;
  const review = JSON.parse(source.textContent);
  const { pairs, people } = review;
  let place = review.position - 1;

  // Browsers may refuse storage; then it lasts as long as the page. Only reasons and what is to be
  // sent are kept, by names that mean nothing outside of this review.
  const stored = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  function store(name, text) {
    try {
      if (text) localStorage.setItem(name, text);
      else localStorage.removeItem(name);
    } catch { /* nothing to do */ }
  }
  const QUEUE = `likewise-queue:${review.key}`;
  const draftOf = (pair) => `likewise-draft:${review.key}:${nameOf(pair)}`;
  const nameOf = (pair) => `${pair.over}.${pair.under}`;

  function say(text) { find("said").textContent = text; }
  function alarm(text, kind = "said") {
    find("alarm").textContent = text;
    find("alarm").dataset.kind = kind;
    find("alarm").hidden = !text;
    if (text) find("alarm").scrollIntoView({ block: "nearest" });
  }

  // ── The queue: one request at a time, in order, again and again until it is saved ──────────────

  const queue = readQueue();
  let busy = false, tries = 0, wake = () => {};
  const WORDS = {
    saved: "Saved", saving: "Saving…", again: "Not saved, trying again", out: "Not saved: sign in again",
  };

  function readQueue() {
    try { return JSON.parse(stored(QUEUE) || "[]"); } catch { return []; }
  }
  function state(name) {
    const line = find("saving");
    if (!line || line.dataset.state === name) return;
    line.dataset.state = name;
    line.textContent = WORDS[name];
  }
  const key = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

  function enqueue(act, fields) {
    queue.push({ act, fields, key: key() });
    store(QUEUE, JSON.stringify(queue));
    state(tries ? "again" : "saving");
    pump();
  }

  async function post(item) {
    const form = new URLSearchParams({ ...item.fields, csrf: review.csrf, key: item.key });
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(), 15000);
    try {
      return await fetch(`${review.url}/${item.act}`, {
        method: "POST", body: form, headers: { Accept: "application/json" },
        credentials: "same-origin", redirect: "error", signal: patience.signal,
      });
    } finally {
      clearTimeout(timer);
    }
  }

  function pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      wake = () => { clearTimeout(timer); resolve(); };
    });
  }

  const final = (status) => status >= 400 && status < 500 && status !== 408 && status !== 429;

  async function pump() {
    if (busy) return;
    busy = true;
    while (queue.length) {
      const item = queue[0];
      let response = null;
      try { response = await post(item); } catch { response = null; }
      if (response?.status === 401) {
        state("out");
        alarm("You are signed out. Sign in again and open this review: what you said is kept here, and sent then.");
        busy = false;
        return;
      }
      if (response?.ok || (response && final(response.status))) {
        queue.shift();
        store(QUEUE, queue.length ? JSON.stringify(queue) : "");
        tries = 0;
        if (response.ok) saved(item);
        else refused(item, await sentence(response));
        continue;
      }
      tries += 1;
      state("again");
      if (tries === 2) alarm("That is not saved yet: the server cannot be reached. It is tried again until it is; keep this page open.", "network");
      await pause(Math.min(3000, 200 * 2 ** Math.min(tries, 5)));
    }
    busy = false;
    state("saved");
  }

  function saved(item) {
    if (find("alarm").dataset.kind === "network") alarm("");
    if (item.act === "finish") location.assign(review.home);
  }
  function refused(item, text) {
    const pair = pairs.find((one) => nameOf(one) === item.fields.pair);
    if (pair && item.act === "flag") pair.flagged = false;
    if (pair && item.act === "withdraw") pair.flagged = true;
    alarm(text || "That was not saved. Load the page again, and try once more.");
    show(place);
  }
  async function sentence(response) {
    try { return (await response.json()).error.message; } catch { return ""; }
  }

  addEventListener("online", () => wake());
  addEventListener("beforeunload", (event) => { if (queue.length) event.preventDefault(); });

  // What was not sent when the page was left is said here too, and sent now.
  for (const item of queue) {
    const pair = pairs.find((one) => nameOf(one) === item.fields.pair);
    if (pair && item.act === "flag") { pair.flagged = true; pair.reason = item.fields.reason; }
    if (pair && item.act === "withdraw") pair.flagged = false;
  }

  // ── What was looked at ─────────────────────────────────────────────────────────────────────────

  let seen = [], seenTimer = 0;
  function look(pair) {
    if (pair.mark || !review.editable) return;
    pair.mark = "seen";
    seen.push(`${nameOf(pair)}=seen`);
    clearTimeout(seenTimer);
    seenTimer = setTimeout(tellSeen, 1000);
  }
  function tellSeen() {
    if (seen.length) enqueue("marks", { marks: seen.join(" ") });
    seen = [];
  }
  const unseen = () => pairs.filter((pair) => !pair.mark && !pair.flagged).length;

  // ── One pair ───────────────────────────────────────────────────────────────────────────────────

  const text = (element, words) => { if (element) element.textContent = words; };

  function show(index) {
    place = Math.min(Math.max(index, 0), pairs.length - 1);
    const pair = pairs[place];
    if (!pair) return;
    look(pair);
    const flags = pairs.filter((one) => one.flagged).length;
    const both = [people[pair.over], people[pair.under]];
    text(document.querySelector("#pair .progress"), `Pair ${place + 1} of ${pairs.length}, ${flags} flagged`);
    both.forEach((person, side) => {
      for (const name of document.querySelectorAll(`#pair [data-name="${side}"]`)) text(name, person.name);
      text(document.querySelector(`#pair [data-chance="${side}"]`), person.percent);
    });
    text(find("gap"), pair.apart);
    drawRuler(both[1].rounded, both[0].rounded);
    drawFacts(pair, both);
    find("pair").classList.toggle("is-flagged", pair.flagged);
    find("flagged-tag").hidden = !pair.flagged;
    find("fine-tag").hidden = pair.flagged || pair.mark !== "fine";
    if (review.editable) drawForm(pair);
    drawBar();
    drawRail();
    drawFinish();
  }

  function drawRuler(low, high) {
    const [gap, first, second] = document.querySelectorAll("#pair .ruler-gap, #pair .ruler-end");
    gap.setAttribute("x", Math.min(low, high));
    gap.setAttribute("width", Math.abs(high - low));
    first.setAttribute("x", Math.min(low, 99.2));
    second.setAttribute("x", Math.min(high, 99.2));
  }

  function drawFacts(pair, both) {
    const unknown = both.some((person) => person.erased);
    for (const row of document.querySelectorAll("#pair [data-fact]")) {
      const fact = Number(row.dataset.fact);
      const differs = pair.differences[fact];
      row.className = unknown ? "unknown" : differs ? "differs" : "same";
      text(row.querySelector("[data-sign]"), unknown ? "?" : differs ? "≠" : "=");
      text(row.querySelector("[data-words]"), unknown ? "unknown" : differs || "same");
      both.forEach((person, side) => {
        text(row.querySelector(`[data-value="${side}"]`), person.erased ? "erased" : person.facts[fact]);
      });
    }
  }

  function drawForm(pair) {
    for (const field of document.querySelectorAll("#pair input[name=pair]")) field.value = nameOf(pair);
    for (const field of document.querySelectorAll("#pair input[name=place]")) field.value = place + 1;
    const reason = find("reason"), draft = stored(draftOf(pair));
    if (reason.dataset.pair !== nameOf(pair)) {
      reason.dataset.pair = nameOf(pair);
      reason.value = draft ?? pair.reason ?? "";
    }
    find("save").hidden = !pair.flagged;
    find("flag").hidden = pair.flagged;
    find("unflag").hidden = !pair.flagged;
    find("fine").hidden = pair.flagged;
    find("fine").setAttribute("aria-pressed", String(pair.mark === "fine"));
  }

  function drawBar() {
    const last = place === pairs.length - 1;
    find("previous").classList.toggle("off", place === 0);
    find("previous").toggleAttribute("aria-disabled", place === 0);
    if (place === 0) find("previous").setAttribute("aria-disabled", "true");
    find("previous").href = `?pair=${Math.max(place, 1)}#pair`;
    find("next").href = last ? "#finish" : `?pair=${place + 2}#pair`;
    text(find("next-word"), last ? "Finish" : "Next");
    text(find("next-sign"), last ? "↓" : "→");
  }

  function drawRail() {
    document.querySelectorAll(".rail a[data-pair]").forEach((link, index) => {
      const pair = pairs[index];
      if (index === place) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
      link.querySelector(".rail-flag").hidden = !pair.flagged;
      text(link.querySelector(".rail-mark"), pair.flagged ? "" : pair.mark === "fine" ? "fine" : pair.mark ? "seen" : "not seen");
    });
  }

  function drawFinish() {
    const flagged = pairs.map((pair, index) => [pair, index]).filter(([pair]) => pair.flagged);
    const list = find("objections");
    if (!list) return;
    list.replaceChildren(...flagged.map(([pair, index]) => {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = `?pair=${index + 1}#pair`;
      link.dataset.pair = index;
      link.textContent = `${people[pair.over].name} and ${people[pair.under].name}`;
      item.append(link);
      return item;
    }));
    const count = flagged.length, left = unseen();
    text(find("objection-count"), count ? `You object to ${count} ${count === 1 ? "pair" : "pairs"}:` : "You have flagged no pair.");
    if (!find("done")) return;
    text(find("done"), meant ? "I mean it" : count ? `Done: hand in ${count} ${count === 1 ? "objection" : "objections"}` : "Nothing to report");
    text(find("unseen-count"), left ? `You have not looked at ${left} of ${pairs.length} pairs.` : "You have looked at every pair.");
  }

  // ── What a member does ─────────────────────────────────────────────────────────────────────────

  let meant = false;

  function move(to) {
    if (to < 0) return;
    if (to >= pairs.length) { find("finish").focus(); return; }
    if (to === place) return;
    show(to);
    history.pushState({ place: to }, "", `?pair=${to + 1}#pair`);
    find("pair-heading").focus({ preventScroll: true });
    say(document.querySelector("#pair .progress").textContent);
  }

  function flag() {
    const pair = pairs[place], reason = find("reason").value.trim();
    if (!review.editable) return;
    const changed = !pair.flagged || reason !== (pair.reason ?? "");
    pair.flagged = true;
    pair.reason = reason;
    store(draftOf(pair), "");
    if (changed) enqueue("flag", { pair: nameOf(pair), place: String(place + 1), reason });
    show(place);
    find("unflag").focus({ preventScroll: true });
    say(`Flagged. ${document.querySelector("#pair .progress").textContent}`);
  }
  function unflag() {
    const pair = pairs[place];
    if (!review.editable || !pair.flagged) return;
    pair.flagged = false;
    pair.mark ||= "seen";
    enqueue("withdraw", { pair: nameOf(pair), place: String(place + 1) });
    show(place);
    find("flag").focus({ preventScroll: true });
    say(`Not flagged any more. ${document.querySelector("#pair .progress").textContent}`);
  }
  function fine() {
    const pair = pairs[place];
    if (!review.editable || pair.flagged) return;
    pair.mark = pair.mark === "fine" ? "seen" : "fine";
    enqueue("marks", { marks: `${nameOf(pair)}=${pair.mark}` });
    show(place);
    say(pair.mark === "fine" ? "Fine." : "Not marked any more.");
  }
  function done() {
    tellSeen();
    if (unseen() && !meant) {
      meant = true;
      drawFinish();
      say(`${find("unseen-count").textContent} Press again if you mean it.`);
      alarm(`${find("unseen-count").textContent} Look at them, or press “I mean it”.`);
      return;
    }
    enqueue("finish", { meant: "yes" });
  }

  for (const [id, act] of [["flag", flag], ["unflag", unflag], ["fine", fine]]) {
    find(id)?.addEventListener("click", (event) => { event.preventDefault(); act(); });
  }
  find("flag-form")?.addEventListener("submit", (event) => { event.preventDefault(); flag(); });
  find("done")?.form.addEventListener("submit", (event) => { event.preventDefault(); done(); });
  find("reason")?.addEventListener("input", () => store(draftOf(pairs[place]), find("reason").value));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (link.getAttribute("href") === "#finish") { event.preventDefault(); find("finish").focus(); return; }
    const to = link.id === "next" ? place + 1 : link.id === "previous" ? place - 1 : link.dataset.pair === undefined ? null : Number(link.dataset.pair);
    if (to === null) return;
    event.preventDefault();
    move(to);
  });
  addEventListener("popstate", (event) => show(event.state?.place ?? review.position - 1));

  // ── Keys ───────────────────────────────────────────────────────────────────────────────────────

  const keys = find("keys"), keysOn = find("keys-on"), KEYS = "likewise-keys";
  keysOn.checked = stored(KEYS) !== "off";
  keys.classList.toggle("off", !keysOn.checked);
  keys.hidden = false;
  keysOn.addEventListener("change", () => {
    store(KEYS, keysOn.checked ? "on" : "off");
    keys.classList.toggle("off", !keysOn.checked);
  });
  const actions = {
    j: () => move(place + 1), ArrowRight: () => move(place + 1),
    k: () => move(place - 1), ArrowLeft: () => move(place - 1),
    f: flag, u: unflag, g: fine, r: () => find("reason")?.focus(), d: () => find("done")?.focus(),
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
    if (!action || !pairs.length) return;
    event.preventDefault();
    action();
  });

  state("saved");
  history.replaceState({ place }, "");
  show(place);
  if (queue.length) { state("saving"); pump(); }
})();
