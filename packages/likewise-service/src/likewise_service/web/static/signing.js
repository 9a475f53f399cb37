// A member's own key: made in this browser, kept where scripts can use it and not read it, and
// never sent anywhere. What is signed is the same text that the API's signatures cover.
const likewiseSigning = (() => {
  "use strict";
  const { _ } = likewiseTexts;
  const ALGORITHM = "Ed25519", STORE = "keys", encoder = new TextEncoder();

  // JSON in the one form that is signed: sorted keys, no spaces.
  function canonical(value) {
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    if (value === null || typeof value !== "object") return JSON.stringify(value);
    return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
  }
  const hex = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const base64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const hash = async (bytes) => hex(await crypto.subtle.digest("SHA-256", bytes));

  // Why this browser cannot sign; nothing if it can.
  async function obstacle() {
    if (!isSecureContext) return _("Browsers sign only on pages that come encrypted: the address has to begin with https.");
    try {
      await crypto.subtle.generateKey(ALGORITHM, false, ["sign", "verify"]);
      await database();
    } catch {
      return _("This browser cannot make or keep a key of the kind that is needed (Ed25519). A current Chrome, Edge, Firefox or Safari can, outside of private windows; or use the client program.");
    }
    return "";
  }

  function database() {
    return new Promise((resolve, reject) => {
      const opening = indexedDB.open("likewise", 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
      opening.onsuccess = () => resolve(opening.result);
      opening.onerror = () => reject(opening.error);
    });
  }
  async function inStore(mode, act) {
    const opened = await database();
    try {
      return await new Promise((resolve, reject) => {
        const request = act(opened.transaction(STORE, mode).objectStore(STORE));
        request.onsuccess = () => resolve(request.result ?? null);
        request.onerror = () => reject(request.error);
      });
    } finally { opened.close(); }
  }
  const place = (who) => `${who.docket}\n${who.member}`;
  const find = (who) => inStore("readonly", (keys) => keys.get(place(who)));

  async function create(who) {
    const pair = await crypto.subtle.generateKey(ALGORITHM, false, ["sign", "verify"]);
    const raw = await crypto.subtle.exportKey("raw", pair.publicKey);
    const key = { private: pair.privateKey, public: hex(raw), id: (await hash(raw)).slice(0, 16) };
    await inStore("readwrite", (keys) => keys.put(key, place(who)));
    return key;
  }

  async function signed(key, purpose, content) {
    const bytes = encoder.encode(`likewise-${purpose}/1\n${canonical(content)}`);
    return base64(await crypto.subtle.sign(ALGORITHM, key.private, bytes));
  }
  const consent = (key, who, publicKey) => signed(key, "member-key", { docket: who.docket, member: who.member, key: publicKey });
  const revocation = (key, who, publicKey) => signed(key, "member-key-end", { docket: who.docket, member: who.member, revoked: publicKey });

  // The time, to a microsecond that no signature of this browser had before.
  function moment() {
    let last = 0;
    try { last = Number(localStorage.getItem("likewise-signed")) || 0; } catch { /* refused: this page alone counts */ }
    const now = Math.max(Date.now() * 1000, last + 1, moment.last + 1);
    moment.last = now;
    try { localStorage.setItem("likewise-signed", String(now)); } catch { /* as above */ }
    return `${new Date(Math.floor(now / 1000)).toISOString().slice(0, -1)}${String(now % 1000).padStart(3, "0")}Z`;
  }
  moment.last = 0;

  // Sign one act on a review; `flags` are all that stand, which only whoever finishes signs.
  async function sign(key, who, review, act, { pair = null, reason = "", limit = -1, flags = null } = {}) {
    const salt = crypto.getRandomValues(new Uint8Array(16)), at = moment();
    const text = encoder.encode(canonical({ text: reason }));
    const digest = reason ? await hash(new Uint8Array([...salt, ...text])) : null;
    const units = limit < 0 ? null : Math.round((limit / 100) * 2 ** 20);
    const shown = await hash(encoder.encode(who.reviews[review].shown));
    const people = pair && pair.split(".").sort();
    const content = { docket: who.docket, member: who.member, review, shown, act, pair: people, reason: digest, limit: units, flags, at };
    const signature = { key: key.id, at, shown, signature: await signed(key, "member", content), salt: hex(salt) };
    return { signature, flag: people && [...people, digest, units] };
  }

  // ── The page of a member's keys ────────────────────────────────────────────────────────────────

  const element = (id) => document.getElementById(id);
  function alarm(text) { element("alarm").textContent = text; element("alarm").hidden = !text; }
  async function post(path, fields) {
    const csrf = document.querySelector("form.leave").elements.csrf.value;
    const response = await fetch(`/console/signature/${path}`, {
      method: "POST", body: new URLSearchParams({ csrf, ...fields }), credentials: "same-origin",
      headers: { Accept: "application/json" },
    }).catch(() => null);
    if (response?.ok) { location.reload(); return; }
    const body = await response?.json().catch(() => ({}));
    alarm(body?.error?.message ?? _("The server cannot be reached. Try again in a while."));
  }

  async function page(who) {
    const why = await obstacle(), key = why ? null : await find(who);
    const item = key && document.querySelector(`[data-key="${key.id}"]`);
    const state = item?.dataset.state ?? "none";
    if (item) item.querySelector("[data-here]").hidden = false;
    const words = {
      signs: _("This browser has a key, and it signs for you."),
      waits: _("This browser has a key, which waits: open this page in a browser that signs for you, and agree there. If you have lost all of those, revoke their keys below, and enrol this browser again."),
      revoked: _("The key of this browser was revoked. You can make another one."),
      none: who.signs ? _("This browser has no key that signs for you, so nothing can be said from here.") : _("This browser has no key."),
    };
    element("browser-state").textContent = why ? `${why} ${_("What you say in it is not signed: it rests on the word of whoever runs this server.")}` : words[state];
    const lost = state === "waits" && !who.keys.length;
    element("enrol").hidden = Boolean(why) || state === "signs" || (state === "waits" && !lost);
    element("enrol-words").hidden = element("enrol").hidden && !why;
    if (state === "waits") item.querySelector("[data-revoke] button").textContent = _("Give it up");
    element("enrol").addEventListener("submit", async (event) => {
      event.preventDefault();
      const made = lost ? key : await create(who);
      post("enrol", { key: made.public, device: element("device").value.trim(), proof: await consent(made, who, made.public) });
    });
    for (const listed of document.querySelectorAll("[data-key]")) {
      const { public: publicKey } = listed.dataset, agree = listed.querySelector("[data-agree]");
      if (agree && state === "signs") {
        agree.hidden = false;
        agree.addEventListener("click", async () => post("enrol", { key: publicKey, consent: await consent(key, who, publicKey) }));
      }
      listed.querySelector("[data-revoke]")?.addEventListener("submit", async (event) => {
        event.preventDefault();
        const own = listed === item ? _("It is the key of this browser.") : "";
        const end = _("This key will sign nothing for you any more, and does not come back. Revoke it?");
        if (!confirm(`${own} ${end}`.trim())) return;
        const signature = state === "signs" ? { signature: await revocation(key, who, publicKey) } : {};
        post("revoke", { key_id: listed.dataset.key, ...signature });
      });
    }
  }
  if (element("enrol")) page(JSON.parse(element("signing-data").textContent));

  return { find, sign };
})();
