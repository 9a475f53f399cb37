"use strict";
// One question after another, and the responses as a CSV file; all data are text, never markup.
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const points = data.limits.map((limit) => Math.round(100 * limit));
const meanings = [
  `their chances should be the same, or at most ${points[0]} points apart`,
  `their chances may be up to ${points[1]} points apart`,
  "no limit: they need not be treated alike",
];
const responses = data.questions.map(() => "");
let place = 0;
let saved = true;

function element(tag, text, className) {
  const node = document.createElement(tag);
  node.textContent = text;
  if (className) node.className = className;
  return node;
}

function options(question) {
  if (question.ids.length === 2) return data.responses.map((text, i) => [text, text, meanings[i]]);
  return [1, 2].map((i) => [question.ids[i], `A is closer to ${"ABC"[i]}`, ""]);
}

function show() {
  const finished = place >= data.questions.length;
  const count = responses.filter(Boolean).length;
  at("status").textContent = `${count} of ${data.questions.length} judged`;
  at("back").disabled = place === 0;
  at("skip").disabled = finished;
  at("save").disabled = count === 0;
  at("people").replaceChildren();
  at("choices").replaceChildren();
  at("question").textContent = finished ? "That was all. Save the file, and hand it on." : "";
  if (finished) return;
  const question = data.questions[place];
  const kind = question.ids.length === 2 ? "How alike are A and B?" : "Is A closer to B or to C?";
  at("question").textContent = `${place + 1}. ${kind}`;
  const head = at("people").createTHead().insertRow();
  head.append(element("th", ""));
  question.ids.forEach((_, i) => {
    const cell = element("th", "ABC"[i]);
    cell.scope = "col";
    head.append(cell);
  });
  const body = at("people").createTBody();
  for (const [title, values] of question.rows) {
    const row = body.insertRow();
    row.className = new Set(values).size > 1 ? "apart" : "";
    const name = element("th", title);
    name.scope = "row";
    row.append(name, ...values.map((value) => element("td", value)));
  }
  for (const [response, text, meaning] of options(question)) {
    const button = element("button", text, responses[place] === response ? "chosen" : "");
    if (meaning) button.append(element("small", meaning));
    button.addEventListener("click", () => respond(response));
    at("choices").append(button);
  }
}

function respond(response) {
  responses[place] = response;
  saved = false;
  place += 1;
  show();
}

function back() {
  place = Math.max(0, place - 1);
  show();
}

const cell = (text) => `"${String(text).replaceAll('"', '""')}"`;

function save() {
  const member = at("member").value.trim();
  if (!member) {
    at("status").textContent = "Please write your name first.";
    at("member").focus();
    return;
  }
  const lines = data.questions.flatMap((question, i) => {
    const [person, other, third = ""] = question.ids;
    return responses[i] ? [[member, person, other, third, responses[i]].map(cell).join(",")] : [];
  });
  const link = document.createElement("a");
  const text = [data.columns.join(","), ...lines].join("\n") + "\n";
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = `judgements-${member.replace(/[^\p{L}\p{N}]+/gu, "-")}.csv`;
  link.click();
  saved = true;
}

at("back").addEventListener("click", back);
at("skip").addEventListener("click", () => respond(""));
at("save").addEventListener("click", save);
document.addEventListener("keydown", (event) => {
  if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Backspace") back();
  if (place >= data.questions.length) return;
  const option = options(data.questions[place])[Number(event.key) - 1];
  if (event.key === "0") respond("");
  else if (option && /^[1-3]$/.test(event.key)) respond(option[0]);
});
window.addEventListener("beforeunload", (event) => {
  if (!saved) event.preventDefault();
});
show();
