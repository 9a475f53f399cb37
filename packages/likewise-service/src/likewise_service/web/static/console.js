// The auditor's pages; everything works without it, by plain links and forms. With it no key waits
// for the network: what is pressed is shown at once, kept in the browser, and sent in order until
// it is saved, from whichever page or tab is open then.
(() => {
  "use strict";
  const find = (id) => document.getElementById(id), opened = Date.now();
  const { _, ngettext, locale, moment, localise } = likewiseTexts;
  localise();

  // On a phone the pages' names do not all fit: the current one is brought into sight.
  document.querySelector(".pages [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  const source = find("queue-data"), leave = document.querySelector("form.leave");
  const data = source ? JSON.parse(source.textContent) : null;
  const practice = data?.practice ?? false;
  // Whoever this page was made for, and the token of their session, which may change under it.
  const seat = leave?.dataset.seat ?? "", label = leave?.dataset.label ?? "";
  let csrf = leave?.elements.csrf.value ?? "";
  // What a member who signs has to know, and the key of this browser, if it has one.
  let signing = data?.signing ?? JSON.parse(find("signing-data")?.textContent ?? "null");
  const signs = () => Boolean(signing?.signs) && !practice;
  async function ownKey() {
    const key = await likewiseSigning.find(signing).catch(() => null);
    return key && signing.keys.includes(key.id) ? key : null;
  }

  // ── What is not sent yet: one entry of the browser's storage each, shared by all tabs ──────────

  const UNSENT = "likewise-unsent:", memory = new Map();
  function stored(name) {
    try { return localStorage.getItem(name) ?? memory.get(name) ?? null; } catch { return memory.get(name) ?? null; }
  }
  function store(name, text) {
    memory.delete(name);
    try {
      if (text) localStorage.setItem(name, text);
      else localStorage.removeItem(name);
    } catch { if (text) memory.set(name, text); }  // refused: it lasts as long as the page
  }
  function keys() {
    try { return [...Object.keys(localStorage), ...memory.keys()]; } catch { return [...memory.keys()]; }
  }
  const parsed = (text) => { try { return JSON.parse(text); } catch { return null; } };
  function unsent() {
    const items = keys().filter((name) => name.startsWith(UNSENT)).map((name) => parsed(stored(name)));
    return items.filter(Boolean).sort((one, other) => one.at - other.at);
  }
  const ours = () => unsent().filter((item) => item.seat === seat);
  const entry = (item) => UNSENT + item.key;
  const random = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

  let latest = 0;
  const touched = new Map();  // when something was said of a pair, here or in another tab
  const place = (item) => `${item.review}.${item.pair}`;
  function keep(item) {
    latest = Math.max(Date.now(), latest + 1);  // two keys within a millisecond stay in order
    const kept = { ...item, seat, label, key: random(), at: latest };
    touched.set(place(kept), latest);
    store(entry(kept), JSON.stringify(kept));
    return kept;
  }

  // ── Signing: at once when something is said, and never for the member when it is sent ──────────

  const locked = (name, task) => (navigator.locks ? navigator.locks.request(name, task) : task());
  const changed = [];  // flags that were set or taken back here or in another tab, and when
  const merge = (newer) => { signing = { ...newer, reviews: { ...signing?.reviews, ...newer.reviews } }; };
  async function toSign(review, fresh = false) {
    if (fresh || !signing.reviews[review]) {
      const response = await fetch(`/console/rounds/${review}/to-sign.json`, { headers: { Accept: "application/json" }, credentials: "same-origin" });
      merge(await response.json());
    }
    return signing.reviews[review];
  }
  // All flags of a review that stand, with what was said since the server was asked.
  function standing(review) {
    const flags = new Map(signing.reviews[review].flags.map((flag) => [`${flag[0]}.${flag[1]}`, flag]));
    for (const change of changed.filter((each) => each.review === review)) {
      if (change.flag) flags.set(change.pair, change.flag); else flags.delete(change.pair);
    }
    return [...flags.keys()].sort((a, b) => (a.split(".") < b.split(".") ? -1 : 1)).map((pair) => flags.get(pair));
  }
  function noteFlag(item) {
    const pair = item.pair.split(".").sort().join(".");
    if (item.act !== "flag" || item.flag) changed.push({ review: item.review, pair, flag: item.flag ?? null, at: item.at });
  }
  async function signatures(key, item) {
    const { review, pair, act } = item, made = {}, first = act === "flag" ? "flag" : "withdraw";
    await toSign(review);
    if (act === "undo") made.reopen = (await likewiseSigning.sign(key, signing, review, "reopen")).signature;
    const content = act === "flag" ? { pair, reason: item.reason, limit: item.limit } : { pair };
    const { signature, flag } = await likewiseSigning.sign(key, signing, review, first, content);
    made[first] = signature;
    const signed = { ...item, flag: act === "flag" ? flag : null };
    noteFlag(signed);
    if (item.last) made.finish = (await likewiseSigning.sign(key, signing, review, "finish", { flags: standing(review) })).signature;
    return { ...signed, signatures: made, unsigned: false, again: "" };
  }
  const AGAIN = _("This waits for your signature.");
  // Not saved from the moment that it is said: what is signed first is not at the server either.
  const give = (item) => { state(tries ? "again" : "saving"); return item.unsigned ? sign(item) : send(); };
  function sign(item) {
    return locked("likewise-sign", async () => {
      const key = await ownKey().catch(() => null);
      const signed = key ? await signatures(key, item).catch(() => null) : null;
      if (stored(entry(item))) store(entry(item), JSON.stringify(signed ?? { ...item, unsigned: false, again: AGAIN }));
    }).then(send);
  }
  // The member signs again what was refused or left unsigned, about what is shown now.
  async function signAgain() {
    const items = ours().filter((item) => item.again);
    await renew().catch(() => "again");
    if (!(await ownKey().catch(() => null))) { alarm(_("This browser has no key that signs for you. See “Your signature”."), "sending"); return; }
    for (const review of new Set(items.map((item) => item.review))) await toSign(review, true).catch(() => null);
    for (const item of items) await sign(item);
  }
  function askAgain() {
    const waiting = ours().filter((item) => item.again);
    if (!waiting.length) return false;
    state("sign");
    const kept = ngettext("%(num)s response is kept in this browser.", "%(num)s responses are kept in this browser.", waiting.length);
    alarm(`${waiting.at(-1).again} ${kept}`, "sending");
    const button = Object.assign(document.createElement("button"), { type: "button", className: "button small", id: "sign-again", textContent: _("Sign, and send") });
    button.addEventListener("click", () => { button.disabled = true; signAgain(); });
    find("alarm")?.append(" ", button);
    return true;
  }
  // Hand in a review that is complete, or that the member hands in as it is.
  async function handIn(review, { flags }) {
    const finish = await signed(review, "finish", { flags });
    await save(review, "finish", new URLSearchParams({ csrf, seat, meant: "yes", key: random(), signatures: JSON.stringify({ finish }) }));
  }
  async function signed(review, act, content) {
    const key = await ownKey();
    if (!key) throw new Error(_("This browser has no key that signs for you. See “Your signature”."));
    return (await likewiseSigning.sign(key, signing, review, act, content)).signature;
  }
  async function save(review, act, body) {
    const response = await fetch(`/console/rounds/${review}/${act}`, { method: "POST", body, headers: { Accept: "application/json" }, credentials: "same-origin" }).catch(() => null);
    if (!response?.ok) throw new Error((await response?.json().catch(() => ({})))?.error?.message ?? _("That was not saved. Try again."));
  }

  // ── Sending: one request at a time, in order, again and again until it is saved ────────────────

  const WORDS = {
    saved: _("Saved"), saving: _("Saving…"), again: _("Not saved, trying again"), held: _("Handed in in a moment; U takes it back"),
    sign: _("Not saved: sign it again"), out: _("Not saved: sign in again"), seat: _("Not saved: you speak for another seat"), lost: _("Not all is saved: see above"),
  };
  const listeners = { saved() {}, refused() {}, renewed() {} };
  let pumping = false, lost = false, flying = "", tries = 0, wake = () => {};

  function state(name) {
    const line = find("saving");
    if (line && line.dataset.state !== name) { line.dataset.state = name; line.textContent = WORDS[name]; }
    tellUnsent();
  }
  function alarm(text, kind = "said") {
    const line = find("alarm");
    if (!line) return;
    line.textContent = kind === "said" && line.dataset.kind === "said" ? `${line.textContent} ${text}` : text;
    line.dataset.kind = kind;
    line.hidden = !text;
    if (text) line.scrollIntoView({ block: "nearest" });
  }
  // The page of the queue says of its own what is saved; of all else, every page says what waits.
  function tellUnsent() {
    const line = find("unsent"), waiting = new Map();
    if (!line) return;
    for (const item of unsent()) {
      if (item.seat !== seat || !data) waiting.set(item.label, (waiting.get(item.label) ?? 0) + 1);
    }
    line.hidden = !waiting.size;
    line.textContent = [...waiting].map(([name, count]) =>
      ngettext("%(num)s response given as %(name)s is kept in this browser, and sent as soon as that seat is signed in here.", "%(num)s responses given as %(name)s are kept in this browser, and sent as soon as that seat is signed in here.", count, { name })).join(" ");
  }

  function request(item) {
    const { review, act, pair, reason, limit, key } = item;
    const signed = item.signatures ? { signatures: JSON.stringify(item.signatures) } : {};
    const form = new URLSearchParams({ pair, key, csrf, seat: item.seat, ...signed, ...(act === "flag" ? { reason, limit } : {}) });
    const body = form.toString();  // browsers let only small ones outlive their page
    return fetch(`/console/rounds/${review}/${act}`, {
      method: "POST", body, headers: { Accept: "application/json", "Content-Type": "application/x-www-form-urlencoded" },
      credentials: "same-origin", redirect: "error", keepalive: body.length < 30000, signal: AbortSignal.timeout(15000),
    });
  }
  function pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      wake = () => { clearTimeout(timer); resolve(); };
    });
  }
  // Where a browser has no locks two tabs may send the same: the server takes each key once.
  const alone = (task) => locked("likewise-send", task);

  // Learn whose session this is now: another tab may have signed in, or chosen another seat.
  async function renew() {
    const began = Date.now(), before = csrf, waiting = ours();
    const response = await fetch(`/console/queue.json?unsent=${waiting.length}`, { headers: { Accept: "application/json" }, credentials: "same-origin" });
    if (response.status === 401) return "out";
    if (!response.ok) return response.status === 403 ? "seat" : "again";
    const fresh = await response.json();
    if (fresh.seat !== seat) return "seat";
    csrf = fresh.csrf;
    if (fresh.signing) merge(fresh.signing);
    changed.splice(0, changed.length, ...changed.filter((change) => change.at >= began));
    for (const item of [...waiting, ...ours()]) noteFlag(item);
    changed.sort((one, other) => one.at - other.at);
    // What was said since the server was asked is newer than what it says.
    const newer = [...touched].filter(([, at]) => at >= began).map(([id]) => id);
    listeners.renewed(fresh, new Set([...waiting.map(place), ...ours().map(place), ...newer]));
    return csrf === before ? "again" : "saving";
  }

  function calm() {
    tries = 0;
    if (find("alarm")?.dataset.kind === "sending") alarm("", "");
  }
  async function attempt(item) {
    if (!stored(entry(item))) return "saving";  // another tab was faster
    flying = item.key;
    let response = null;
    try { response = await request(item); } catch { return "again"; } finally { flying = ""; }
    const { status } = response;
    if (status === 401 || status === 403) return renew().catch(() => "again");
    if (!response.ok && (status < 400 || status >= 500 || status === 408 || status === 429)) return "again";
    const body = await response.json().catch(() => ({}));
    if (SIGN_AGAIN.has(body.error?.code)) {
      store(entry(item), JSON.stringify({ ...item, signatures: null, again: body.error.message }));
      return "saving";
    }
    store(entry(item), "");
    calm();
    if (response.ok) { listeners.saved(item, body); return "saving"; }
    lost = true;
    listeners.refused(item, body.error?.message ?? "");
    return "saving";
  }

  const SIGN_AGAIN = new Set(["signature-needed", "signature-late", "shown-changed", "bad-signature"]);
  // The next to be sent: nothing that waits for its signature, nor what was said of that pair since.
  function sendable() {
    const waiting = new Set();
    for (const item of ours()) {
      if (item.unsigned || item.again) waiting.add(place(item));
      else if (!waiting.has(place(item))) return item;
    }
    return null;
  }

  const ALARMS = {
    out: _("You are signed out. Sign in again here, or in another tab: what you said is kept in this browser, and sent then."),
    seat: _("In this browser you speak for another seat by now. What you said for this one is kept here, and sent as soon as you speak for it again."),
    again: _("That is not saved yet: the server cannot be reached. It is tried again until it is, and kept in this browser."),
  };
  async function pump() {
    if (pumping) return;
    pumping = true;
    for (let item = sendable(); item; item = sendable()) {
      const held = ours().length === 1 ? item.hold - Date.now() : 0;
      if (held > 0) { state("held"); await pause(held); continue; }
      const outcome = await alone(() => attempt(item)).catch(() => "again");
      if (outcome === "saving") { state(outcome); continue; }
      tries += 1;
      state(outcome);
      if (tries > 1 || outcome !== "again") alarm(ALARMS[outcome], "sending");
      await pause(Math.min(3000, 200 * 2 ** Math.min(tries, 5)));
    }
    pumping = false;
    calm();  // also where another tab has sent all
    if (askAgain()) return;
    state(ours().length ? "saving" : lost ? "lost" : "saved");
  }
  function send() {
    state(tries ? "again" : "saving");
    wake();
    pump();
  }

  addEventListener("online", () => wake());
  addEventListener("focus", () => wake());
  // Whoever leaves: what has no predecessor of the same pair is sent now; the next page sends it
  // again, with the same key, and all that remains.
  addEventListener("pagehide", () => {
    const pairs = new Set();
    for (const item of ours()) {
      if (!pairs.has(place(item)) && item.key !== flying && !item.unsigned && !item.again) request(item).catch(() => {});
      pairs.add(place(item));
    }
  });
  addEventListener("beforeunload", (event) => {
    const forgotten = [...memory.keys()].some((name) => name.startsWith(UNSENT));
    if (forgotten || (tries && ours().length)) event.preventDefault();
  });
  // Whoever signs hands in by a signature, not by the form alone.
  async function handInAll(event, reviews) {
    event.preventDefault();
    try {
      for (const review of reviews) await handIn(review, signing.reviews[review]);
      location.assign("/console/");
    } catch (error) { alarm(error.message, "sending"); }
  }
  // A comment is kept while it is written, signed where the member signs, and gone once it is saved.
  const comment = find("comment"), commentDraft = `likewise-draft:${find("comment-form")?.dataset.review}.comment`;
  async function sendComment(event) {
    event.preventDefault();
    const { review } = event.target.dataset, form = new URLSearchParams(new FormData(event.target)), reason = comment.value.trim();
    try {
      form.set("comment", reason);
      if (signs()) form.set("signatures", JSON.stringify({ comment: await signed(review, "comment", { reason }) }));
      await save(review, "comment", form);
      store(commentDraft, "");
      location.reload();
    } catch (error) { alarm(error.message, "sending"); }
  }
  if (comment) {
    comment.value ||= stored(commentDraft) ?? "";
    comment.addEventListener("input", () => store(commentDraft, comment.value));
    find("comment-form").addEventListener("submit", sendComment);
  }
  if (signs()) {
    find("finish")?.addEventListener("submit", (event) => handInAll(event, Object.keys(signing.reviews)));
    find("hand-in")?.addEventListener("submit", (event) => handInAll(event, signing.complete));
  }
  // A form that changes who is signed in waits a little until all is sent.
  document.addEventListener("submit", async (event) => {
    if (event.defaultPrevented || !ours().length) return;
    event.preventDefault();
    const form = event.target, submitter = event.submitter;
    for (const item of ours()) if (item.hold) store(entry(item), JSON.stringify({ ...item, hold: 0 }));
    wake();
    for (let i = 0; i < 30 && ours().length; i += 1) await new Promise((done) => setTimeout(done, 100));
    if (submitter?.name) form.append(Object.assign(document.createElement("input"), { type: "hidden", name: submitter.name, value: submitter.value }));
    form.submit();
  });
  addEventListener("storage", tellUnsent);

  tellUnsent();
  // A page that was left before it could sign: whoever is here now is asked.
  if (signs()) {
    locked("likewise-sign", () => {
      for (const item of ours().filter((each) => each.unsigned && each.at < opened)) {
        store(entry(item), JSON.stringify({ ...item, unsigned: false, again: AGAIN }));
      }
    });
    ownKey().then((key) => {
      if (key || !find("signature")) return;
      find("signature").firstChild.textContent = _("You sign what you say, and this browser has no key that signs for you: nothing can be said from here.") + " ";
      find("signature").className = "problem";
      find("said")?.after(find("signature"));
    });
  }
  if (seat && ours().length) send();
  if (data && !data.pairs.length) document.addEventListener("visibilitychange", () => { if (!document.hidden) location.reload(); });
  if (!data?.pairs.length) return;

  // ── The queue: pairs in order, those with a response before the one in focus ───────────────────

  const HOLD = 5000, FEW = 8;
  let pairs = data.pairs, left = data.left, focus = 0, revisiting = false;
  const responded = [];  // in the order in which it was said, for undo
  const byId = (id) => pairs.find((pair) => pair.id === id);
  const toDo = () => Object.values(left).reduce((sum, number) => sum + number, 0);
  const draftOf = (pair) => `likewise-draft:${pair.id}`;
  const text = (element, words) => { if (element) element.textContent = words; };
  function say(words) { find("said").textContent = words; }

  function set(pair, response, reason = pair.reason) {
    const before = left[pair.review] ?? 0;
    left[pair.review] = before + (pair.response ? 1 : 0) - (response ? 1 : 0);
    pair.response = response;
    pair.reason = reason;
  }
  // What was not sent when a page was left, and what another tab says, is said here too.
  function take(item) {
    const pair = byId(place(item));
    touched.set(place(item), Date.now());
    noteFlag(item);
    if (!pair) return;
    set(pair, item.act === "undo" ? "" : item.act, item.reason ?? pair.reason);
    pair.limit = item.limit ?? pair.limit;
  }

  function show(index) {
    focus = Math.min(Math.max(index, 0), pairs.length - 1);
    const pair = pairs[focus], over = Boolean(pair.response) && !revisiting;
    find("nothing").hidden = !over;
    find("pair").hidden = over;
    find("undo-last").hidden = !responded.length;
    text(find("progress"), _("%(left)s left", { left: toDo().toLocaleString(locale) }));
    text(find("nothing-heading"), toDo() ? _("More pairs are on their way") : _("Nothing more to look at"));
    if (over) return;
    pair.people.forEach((person, side) => {
      for (const name of document.querySelectorAll(`#pair [data-name="${side}"]`)) text(name, person.name);
      const chance = document.querySelector(`#pair [data-chance="${side}"]`);
      text(chance, person.percent);
      chance.parentElement.querySelector(".level-part").setAttribute("width", person.rounded);
    });
    text(find("gap"), pair.apart);
    drawFacts(pair);
    find("pair").classList.toggle("is-flagged", pair.response === "flag");
    for (const name of ["flag", "fine"]) {
      find(`${name}-tag`).hidden = pair.response !== name;
      find(name).hidden = pair.response === name;
    }
    find("undo").hidden = !pair.response && !responded.length;
    find("save").hidden = pair.response !== "flag";
    const reason = find("reason"), words = stored(draftOf(pair)) ?? pair.reason;
    if (reason.dataset.pair !== pair.id) {
      reason.dataset.pair = pair.id;
      reason.value = words;
      find("why").open = Boolean(words) || pair.limit >= 0;
      drawLimit(pair);
    }
    const link = find("round-link"), due = pair.due && new Date(pair.due);
    if (link) text(find("deadline"), due ? _("Closes %(moment)s.", { moment: moment(due) }) : pair.deadline);
    if (link) { link.href = `${data.url}/${pair.review}`; text(link.querySelector("[data-number]"), pair.number); }
  }

  const limit = find("limit");
  function drawLimit(pair) {
    if (!limit) return;
    if (pair) { limit.max = pair.limits; limit.value = pair.limit; }
    const points = Number(limit.value);
    text(find("limit-words"), points < 0 ? _("not said") : ngettext("%(num)s point", "%(num)s points", points));
  }
  limit?.addEventListener("input", () => drawLimit());

  function drawFacts(pair) {
    for (const row of document.querySelectorAll("#pair [data-fact]")) {
      const fact = row.dataset.fact, differs = pair.differences[fact];
      row.className = pair.unknown ? "unknown" : differs ? "differs" : "same";
      text(row.querySelector("[data-sign]"), pair.unknown ? "?" : differs ? "≠" : "=");
      text(row.querySelector("[data-amount]"), differs?.[0] && !pair.unknown ? `${differs[0]},` : "");
      text(row.querySelector("[data-words]"), pair.unknown ? _("unknown") : differs?.[1] ?? _("same"));
      pair.people.forEach((person, side) => {
        text(row.querySelector(`[data-value="${side}"]`), person.erased ? _("erased") : person.facts[fact]);
      });
    }
  }

  function move(to, words = "") {
    if (to < 0 || to >= pairs.length) return;
    show(to);
    const over = find("pair").hidden;
    if (!practice) history.pushState({ id: pairs[focus].id }, "", over ? "/console/" : `?pair=${pairs[focus].id}`);
    find(over ? "nothing-heading" : "pair-heading").focus({ preventScroll: true });
    find(over ? "nothing-heading" : "pair-heading").scrollIntoView({ block: "nearest" });
    say(`${words}${find(over ? "nothing-heading" : "progress").textContent}.`);
  }
  // The next pair without a response, behind this one first; without any, this one stays.
  function next() {
    const order = [...pairs.keys()].map((i) => (focus + 1 + i) % pairs.length);
    return order.find((i) => !pairs[i].response) ?? focus;
  }
  function advance(words) {
    revisiting = false;
    move(next(), words);
    refill();
  }
  function refill() {
    if (pairs.filter((pair) => !pair.response).length < Math.min(FEW, toDo())) refresh();
  }

  function respond(act) {
    const pair = pairs[focus], reason = find("reason").value.trim(), points = Number(limit?.value ?? -1);
    const same = act === "fine" || (reason === pair.reason && points === pair.limit);
    if (find("pair").hidden || (pair.response === act && same)) return;
    set(pair, act, act === "flag" ? reason : "");
    pair.limit = act === "flag" ? points : -1;
    store(draftOf(pair), "");
    delete find("reason").dataset.pair;
    if (!responded.includes(pair.id)) responded.push(pair.id);
    // The last response of a round hands it in, which may close it: it waits for a second thought.
    const last = !left[pair.review];
    if (practice) {
      find("word").hidden = false;
      text(find("word"), pair.words[act]);
      history.replaceState({ id: pair.id }, "", `?done=${data.done + data.pairs.length - toDo()}`);
    } else {
      give(keep({ act, review: pair.review, pair: pair.name, reason, limit: pair.limit, last, unsigned: signs(), hold: last ? Date.now() + HOLD : 0 }));
    }
    const said = act === "flag" ? _("Flagged.") : _("Fine.");
    const soon = _("Review %(number)s is complete and handed in in a moment; U takes it back.", { number: pair.number });
    advance(last && !practice ? `${said} ${soon} ` : `${said} `);
  }
  function undo() {
    const pair = pairs[focus].response && !find("pair").hidden ? pairs[focus] : byId(responded.at(-1));
    if (!pair?.response) return;
    const waiting = ours().findLast((item) => place(item) === pair.id);
    const held = (waiting?.hold > Date.now() && waiting.key !== flying) || Boolean(waiting?.again);
    if (pair.final && !left[pair.review] && !held) { say(_("Review %(number)s is handed in; another member is asked next.", { number: pair.number })); return; }
    if (responded.includes(pair.id)) responded.splice(responded.indexOf(pair.id), 1);
    if (held) {
      store(entry(waiting), "");
      noteFlag({ ...waiting, act: "undo", flag: null });
      send();
    } else if (!practice) give(keep({ act: "undo", review: pair.review, pair: pair.name, before: pair.response, unsigned: signs() }));
    const { reason } = pair;
    set(pair, "", "");
    if (reason) store(draftOf(pair), reason);
    delete find("reason").dataset.pair;
    revisiting = false;
    move(pairs.indexOf(pair), _("Taken back.") + " ");
  }

  listeners.saved = (item, body) => {
    const handedIn = () => say(_("Review %(number)s is handed in.", { number: byId(place(item))?.number ?? "" }));
    if (body.handed_in && item.act !== "undo") handedIn();
    // It stands otherwise than this tab knew: the member said the last of it, so it is signed anew.
    else if (signs() && item.last) toSign(item.review, true).then((content) => handIn(item.review, content)).then(handedIn).catch((error) => alarm(error.message));
    refill();
  };
  listeners.refused = (item, sentence) => {
    const pair = byId(place(item));
    const why = sentence || _("That was not saved. Load the page again, and try once more.");
    const [first, second] = (pair?.people ?? []).map((person) => person.name);
    alarm(pair ? _("%(first)s and %(second)s of review %(number)s: %(why)s", { first, second, number: pair.number, why }) : why);
    if (pair) set(pair, item.before ?? "");
    if (pair && item.reason) store(draftOf(pair), item.reason);
    touched.delete(place(item));
    refresh();
  };
  // Fresh from the server; pairs of which something newer was said here stay as they are.
  listeners.renewed = (fresh, newer) => {
    if (practice) return;
    const awaited = new Set(fresh.pairs.map((pair) => pair.id)), before = pairs[focus];
    // Letters meant for a reason would be keys for another pair: the one that is written about stays.
    const written = [find("reason"), limit].includes(document.activeElement) ? before : null;
    const kept = pairs.filter((pair) => newer.has(pair.id) || pair === written || (pair.response && !awaited.has(pair.id)));
    const same = new Set(kept.map((pair) => pair.id));
    left = { ...fresh.left };
    for (const pair of kept) left[pair.review] = (left[pair.review] ?? 0) + (pair.response ? 0 : 1) - (awaited.has(pair.id) ? 1 : 0);
    // Of a pair that came only now another tab may have said something since.
    const unheard = fresh.pairs.filter((pair) => !same.has(pair.id));
    for (const pair of unheard) if (newer.has(pair.id)) left[pair.review] -= 1;
    pairs = [...kept, ...unheard.filter((pair) => !newer.has(pair.id))];
    if (!pairs.length) { location.assign("/console/"); return; }
    const index = pairs.findIndex((pair) => pair.id === before.id), open = pairs.findIndex((pair) => !pair.response);
    show(index >= 0 && (revisiting || !pairs[index].response || open < 0) ? index : Math.max(open, 0));
  };
  let refreshing = false;
  async function refresh() {
    if (practice || refreshing) return;
    refreshing = true;
    try { await renew(); } catch { /* the next one may reach the server */ }
    refreshing = false;
  }
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  setInterval(() => { if (!document.hidden && !toDo()) refresh(); }, 30000);
  addEventListener("storage", (event) => {
    const item = event.key?.startsWith(UNSENT) && event.newValue ? parsed(event.newValue) : null;
    if (item?.seat !== seat) return;
    take(item);
    show(pairs[focus].response && !revisiting ? next() : focus);
    send();
  });

  // ── What a member does ─────────────────────────────────────────────────────────────────────────

  const later = () => { revisiting = false; move(next()); };
  const before = () => { revisiting = true; move(focus - 1); };
  for (const [id, act] of [["flag", () => respond("flag")], ["fine", () => respond("fine")], ["undo", undo], ["undo-last", undo], ["later", later]]) {
    find(id).addEventListener("click", (event) => { event.preventDefault(); act(); });
  }
  find("flag-form").addEventListener("submit", (event) => { event.preventDefault(); respond("flag"); });
  find("reason").addEventListener("input", () => store(draftOf(pairs[focus]), find("reason").value));
  addEventListener("popstate", (event) => {
    const index = pairs.findIndex((pair) => pair.id === event.state?.id);
    revisiting = true;
    if (index >= 0) show(index);
  });

  const box = find("keys"), keysOn = find("keys-on"), KEYS = "likewise-keys";
  keysOn.checked = stored(KEYS) !== "off";
  box.classList.toggle("off", !keysOn.checked);
  keysOn.addEventListener("change", () => {
    store(KEYS, keysOn.checked ? "on" : "off");
    box.classList.toggle("off", !keysOn.checked);
  });
  const actions = {
    j: later, ArrowRight: later, k: before, ArrowLeft: before, u: undo,
    f: () => respond("flag"), g: () => respond("fine"),
    r: () => { find("why").open = true; find("reason").focus(); },
    l: () => { if (limit) { find("why").open = true; limit.focus(); } },
  };
  const typing = (target) => target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox])");
  document.addEventListener("keydown", (event) => {
    const target = event.target instanceof Element ? event.target : document.body;
    if (target.id === "reason" || target.id === "limit") {
      if (event.key === "Escape") find("pair-heading").focus();
      if (event.key === "Enter" && (target === limit || event.ctrlKey || event.metaKey)) { event.preventDefault(); find("flag-form").requestSubmit(); }
      return;
    }
    if (!keysOn.checked || typing(target) || event.defaultPrevented) return;
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });

  for (const item of ours()) take(item);
  revisiting = Boolean(pairs[0].response) && location.search.startsWith("?pair=");
  if (find("last")) find("last").hidden = true;
  history.replaceState({ id: pairs[0].id }, "");
  show(pairs[0].response && !revisiting ? next() : 0);
  box.hidden = false;
})();
