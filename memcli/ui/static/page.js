// The page: it asks the server for views, which are HTML, and for actions, and knows nothing of memory itself.

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const main = $("#main"), dialog = $("#dialog"), toast = $("#toast");
const VIEWS = ["memories", "inbox", "days", "session", "pictures", "changes"];
const TOKEN = "mem-token", NUMBER = "mem-workspace", DRAFTS = "mem-drafts";

// ── The token of the run: it came behind the `#`, and leaves the address at once.

const opening = /^#token=(.+)$/.exec(location.hash);
if (opening) {
  localStorage.setItem(TOKEN, opening[1]);
  history.replaceState(null, "", "/#/memories");
}
const token = localStorage.getItem(TOKEN) ?? "";

const state = { view: "", list: "", id: null, undo: [], number: sessionStorage.getItem(NUMBER) ?? "0" };
const waiting = new Map(); // what is asked for, by the place it is for: a newer question ends the older

class Refused extends Error {}

async function request(url, options = {}, slot = url) {
  waiting.get(slot)?.abort();
  const control = new AbortController();
  waiting.set(slot, control);
  let response;
  try {
    response = await fetch(url, { ...options, signal: control.signal, headers: { "x-mem-token": token, ...options.headers } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The page has ended: run `mem ui` again.");
  }
  if (response.ok || response.headers.get("content-type")?.startsWith("text/html")) return response;
  const refusal = await response.json().catch(() => ({}));
  if (refusal.error === "no such workspace" && state.number !== "0") {
    state.number = "0"; // it was one of an earlier run
    sessionStorage.removeItem(NUMBER);
    location.reload();
  }
  throw new Refused([refusal.error ?? "It failed: the terminal says why.", refusal.fix].filter(Boolean).join(": "));
}

async function view(name, query, slot = name) {
  const response = await request(`/view/${name}?${new URLSearchParams({ ...query, w: state.number })}`, {}, slot);
  return response.text();
}

function parsed(html) {
  const fragment = document.createDocumentFragment();
  fragment.append(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
  return fragment;
}

// What is as it was stays: neither focus nor place is lost.
const shown = new WeakMap();

async function fill(target, name, query, slot = name) {
  target.setAttribute("aria-busy", "true");
  try {
    const html = await view(name, query, slot);
    if (shown.get(target) !== html) replace(target, parsed(html));
    shown.set(target, html);
    target.removeAttribute("aria-busy");
    return true;
  } catch (error) {
    if (error.name === "AbortError") return false;
    target.removeAttribute("aria-busy");
    shown.delete(target);
    target.replaceChildren(paragraph(error.message, "banner warn"));
    if (!(error instanceof Refused)) throw error;
    return false;
  }
}

// The row that has the focus has it in the newer list too.
function replace(target, content) {
  const focused = target.contains(document.activeElement) ? document.activeElement.dataset.id : null;
  target.replaceChildren(content);
  if (focused) $(`[data-id="${CSS.escape(focused)}"]`, target)?.focus({ preventScroll: true });
}

function paragraph(text, name) {
  const element = document.createElement("p");
  element.className = name;
  element.textContent = text;
  return element;
}

function later(job, milliseconds) {
  let timer = 0;
  const call = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = 0;
      job(...values);
    }, milliseconds);
  };
  call.putOff = () => timer && call();
  call.stop = () => clearTimeout(timer);
  return call;
}

// ── Where one is: `#/memories?q=…&id=…`.

function address() {
  const [path, query = ""] = location.hash.slice(1).split("?");
  const name = path.slice(1);
  return { name: VIEWS.includes(name) ? name : "memories", query: Object.fromEntries(new URLSearchParams(query)) };
}

function go(name, query, replace = false) {
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value)).toString();
  const hash = `#/${name}${text ? `?${text}` : ""}`;
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  return show();
}

async function show(again = false) {
  const { name, query } = address();
  for (const link of $$("[data-view]"))
    link.dataset.view === name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  document.title = `${name[0].toUpperCase()}${name.slice(1)} · mem`;
  const isNew = state.view !== name || (name === "memories" && !$("#filters")); // the frame may have failed
  if (isNew) {
    state.view = name;
    state.list = state.id = null;
    main.dataset.view = name;
    window.scrollTo(0, 0);
  }
  if (name === "memories") return showMemories(query, isNew, again);
  const top = window.scrollY;
  if (await fill(main, name === "session" ? "start" : name, query, "main") && again) window.scrollTo(0, top);
  $$(".scroll", main).forEach((box) => (box.scrollLeft = box.scrollWidth)); // the latest bars are the last ones
  return undefined;
}

async function showMemories(query, isNew, again) {
  if (isNew && !(await fill(main, "frame", {}, "main"))) return;
  if (isNew) takeFrame();
  const { id = "", ...narrowed } = query;
  const filters = $("#filters");
  for (const field of filters.elements) {
    if (!field.name || field === document.activeElement) continue;
    if (field.matches("select")) offer(field, narrowed[field.name]);
    field.value = narrowed[field.name] ?? "";
  }
  const narrowing = Object.keys(narrowed).filter((key) => key !== "q").length;
  $("#more-filters").textContent = narrowing ? `Filter · ${narrowing}` : "Filter";
  if (narrowing > (isNew ? 0 : state.narrowing)) openFilters(true); // who closes them may go on without them
  state.narrowing = narrowing;
  main.classList.toggle("has-memory", Boolean(id));
  const list = new URLSearchParams(narrowed).toString();
  const tasks = [];
  if (state.list !== list || again) {
    state.list = list;
    tasks.push(fill($("#list"), "memories", state.isTyping ? { ...narrowed, typing: 1 } : narrowed).then(mark));
  }
  if (state.id !== id || again) tasks.push(showMemory(id));
  await Promise.all(tasks);
  mark();
  if (isNew) $("#list .row[aria-current]")?.scrollIntoView({ block: "nearest" });
  if (isNew) loadValues();
}

// What there is to choose from comes once the list stands there: among thousands that takes a moment.
async function loadValues() {
  if (!(await fill($("#values"), "values", {}))) return;
  const types = $$("#type-values option").map((option) => option.value);
  for (const select of [$("#filters"), $("#new-form")?.content].flatMap((root) => root ? $$("[name=type]", root) : []))
    types.forEach((type) => offer(select, type));
}

function offer(select, value) {
  if (value && ![...select.options].some((option) => option.value === value)) select.add(new Option(value));
}

async function showMemory(id) {
  const beside = $("#beside");
  if (state.id !== id) beside.scrollTop = 0;
  state.id = id;
  if (!id) {
    waiting.get("memory")?.abort();
    shown.delete(beside);
    return beside.replaceChildren(paragraph("Choose a memory, or write a new one.", "quiet empty"));
  }
  if (await fill(beside, "memory", { id })) loadParts(beside);
  return undefined;
}

async function loadParts(root) {
  for (const part of $$("[data-load]", root))
    await fill(part, part.dataset.load, Object.fromEntries(new URLSearchParams(part.dataset.query)));
}

function takeFrame() {
  const slot = $("[data-slot=workspace]", main);
  $("#workspace").replaceChildren(...slot.childNodes);
  slot.remove();
}

function count(number) {
  const badge = $("#waiting");
  badge.hidden = !number;
  badge.textContent = number > 999 ? "999+" : String(number);
  badge.setAttribute("aria-label", `${number} waiting`);
}

function mark() {
  for (const row of $$("#list .row"))
    row.dataset.id === state.id ? row.setAttribute("aria-current", "true") : row.removeAttribute("aria-current");
}

function openFilters(isOpen) {
  $("#filter-fields").hidden = !isOpen;
  $("#more-filters").setAttribute("aria-expanded", String(isOpen));
}

// ── What is done, and taken back.

async function act(name, body) {
  const options = { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const response = await request(`/do/${name}`, options, Symbol(name));
  if (response.status === 409) return { conflict: await response.text() };
  const done = await response.json();
  if (done.undo && name !== "undo") state.undo.push(done);
  say(done.message, done.undo && name !== "undo", false, done.notices);
  return done;
}

let isPending = false;

async function attempt(name, body) {
  if (isPending) {
    say("One moment: what was done last is not finished.");
    return null;
  }
  isPending = true;
  const slow = setTimeout(say, 500, "One moment …");
  try {
    return await act(name, { ...body, w: body.w ?? state.number });
  } catch (error) {
    say(error.message, null, true);
    if (!(error instanceof Refused)) throw error;
    return null;
  } finally {
    clearTimeout(slow);
    isPending = false;
  }
}

// A button and a form act once, until what they changed is shown.
const running = new WeakSet();

async function once(element, job) {
  if (running.has(element)) return;
  running.add(element);
  element.setAttribute("aria-busy", "true");
  try {
    await job();
  } finally {
    element.removeAttribute("aria-busy");
    running.delete(element);
  }
}

function say(text, canUndo, isError = false, notices = []) {
  toast.className = isError ? "shown warn" : "shown";
  toast.replaceChildren(document.createTextNode(text));
  if (canUndo) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Undo";
    button.setAttribute("aria-keyshortcuts", "u");
    button.addEventListener("click", takeBack);
    toast.append(" ", button);
  }
  toast.append(...notices.map((notice) => paragraph(notice, "small")));
  (dialog.open ? dialog : document.body).append(toast); // what lies under a dialog is neither seen nor read out
  clearTimeout(say.timer);
  say.timer = setTimeout(() => (toast.className = ""), canUndo || notices.length ? 12000 : 7000);
}

async function takeBack() {
  const last = state.undo.at(-1);
  if (!last) return say("Nothing was done here yet: Changes lists what was done elsewhere.");
  const done = await attempt("undo", { number: String(last.undo), w: String(last.w) });
  if (!done) return undefined;
  state.undo.pop();
  await show(true);
  return refreshCount();
}

// What waits is counted when nothing else is asked for: among thousands that takes a moment.
const refreshCount = later(async () => count(Number(parsed(await view("waiting", {})).textContent)), 1200);

async function doneWith(button, done) {
  if (!done) return;
  if (done.conflict) return showConflict(done.conflict);
  if ("leaves" in button.dataset) return leaveRow(state.id);
  if ("drops" in button.dataset) return button.closest("article").remove();
  if (state.view === "memories" && done.id && done.id !== state.id) return go("memories", { ...address().query, id: done.id }).then(() => show(true));
  const index = $$(".question", main).indexOf(button.closest(".question"));
  await show(true);
  const questions = $$(".question", main);
  if (index >= 0 && questions.length) questions[Math.min(index, questions.length - 1)].focus();
  return refreshCount();
}

async function leaveRow(id) {
  const rows = $$("#list .row");
  const index = rows.findIndex((row) => row.dataset.id === id);
  const next = rows[index + 1] ?? rows[index - 1];
  rows[index]?.closest("li").remove();
  shown.delete($("#list"));
  state.list = null;
  await go("memories", { ...address().query, id: main.clientWidth > 760 && index >= 0 ? next?.dataset.id ?? "" : "" }, true);
  return refreshCount();
}

const fieldsOf = (form) => [...form.elements].filter((field) => field.name);
const isCheckbox = (field) => field.type === "checkbox";

function isTouched(field) {
  if (isCheckbox(field)) return field.checked !== field.defaultChecked;
  return field.type !== "hidden" && field.value !== (field.matches("select") ? $("option[selected]", field)?.value : field.defaultValue);
}

// What a person did not touch is not sent: who corrects a text decides nothing about its key.
function changed(form) {
  const isWhole = (field) => form.matches(".conflict") || field.type === "hidden" || ("new" in form.dataset && field.matches("select"));
  const sent = fieldsOf(form).filter((field) => isWhole(field) || isTouched(field));
  return Object.fromEntries(sent.map((field) => [field.name, isCheckbox(field) ? field.checked : field.value]));
}

// What stands there now, beside what was shown or typed.
function showConflict(html) {
  const beside = $("#beside"), before = $(".memory .text", beside)?.textContent ?? "";
  shown.delete(beside);
  beside.replaceChildren(parsed(html));
  $("[data-before]", beside)?.replaceChildren(before);
  if (dialog.open) dialog.close();
  ($("form.conflict textarea", beside) ?? beside).focus();
  return loadParts(beside);
}

async function submit(form) {
  const body = changed(form);
  if (form.matches(".edit") && !fieldsOf(form).some(isTouched)) return leave();
  const done = await attempt(form.dataset.form, body);
  if (!done) return;
  if (done.conflict) return showConflict(done.conflict);
  drafts.delete(draftName(form));
  shown.delete($("#beside"));
  if (dialog.open) dialog.close();
  if (state.view !== "memories") return show(true);
  await go("memories", { ...address().query, id: done.id }, true);
  await show(true);
  $("#beside").focus();
}

// ── Dialogs: a new memory, the keys, and another memory to choose.

function open(name) {
  const content = name === "new" ? $("#new-form") : $(`#${name}`);
  if (!content) return go("memories", {}).then(() => $("#new-form") && open(name));
  dialog.replaceChildren(content.content.cloneNode(true));
  if (name === "new") restore($("form", dialog));
  dialog.showModal();
  dialog.scrollTop = 0; // a long one would begin at its first button
  return undefined;
}
dialog.addEventListener("close", () => document.body.append(toast));

function pick(purpose) {
  const article = $("#beside article");
  if (!article) return;
  const title = document.createElement("h2");
  title.id = "dialog-title";
  title.textContent = purpose === "merge" ? "Merge with which one?" : "What takes its place?";
  dialog.replaceChildren(title);
  if (purpose === "supersede") {
    const form = $("#new-form").content.cloneNode(true).firstElementChild;
    $("h2", form).remove();
    $(".fields", form).remove();
    $("textarea", form).placeholder = "What holds now, in its place.";
    const hide = (name, value) => form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
    hide("supersedes", article.dataset.id);
    restore(form);
    hide("digest", article.dataset.digest); // of what is seen now, whenever the words were typed
    dialog.append(form, paragraph("Or choose one that is there:", "quiet"));
  }
  const input = document.createElement("input");
  Object.assign(input, { type: "search", placeholder: "Search", autocomplete: "off" });
  input.setAttribute("aria-label", "Search for another memory");
  const list = document.createElement("div");
  dialog.append(input, list);
  const load = () => fill(list, "pick", { q: input.value, but: article.dataset.id });
  input.addEventListener("input", later(load, 150));
  list.addEventListener("click", async (event) => {
    const other = event.target.closest("[data-picked]")?.dataset;
    if (!other) return;
    const shown = { digest: article.dataset.digest, other_digest: other.digest };
    const done = await attempt(purpose, { id: article.dataset.id, [purpose === "merge" ? "with" : "by"]: other.picked, ...shown });
    if (!done) return load();
    if (done.conflict) return showConflict(done.conflict);
    dialog.close();
    await go("memories", { ...address().query, id: done.id }, true);
    await show(true);
  });
  dialog.showModal();
  ($("textarea", dialog) ?? input).focus();
  load();
}

// ── What a person does: clicks, typing, forms, keys.

document.addEventListener("click", async (event) => {
  const target = event.target.closest("a, button, summary");
  if (!target) return;
  const data = target.dataset;
  if (target.matches("a[href^='#/']") && !event.metaKey && !event.ctrlKey && !event.shiftKey) {
    event.preventDefault();
    if ("back" in data) return history.state?.isFromList ? history.back() : go("memories", { ...address().query, id: "" });
    if ("reload" in data) return leave();
    const isRow = target.matches("#list .row");
    history.pushState({ isFromList: isRow }, "", isRow ? rowAddress(data.id) : target.getAttribute("href"));
    if (dialog.open) dialog.close();
    return show();
  }
  if (data.do) {
    const body = { digest: target.closest("[data-digest]")?.dataset.digest, ...JSON.parse(data.body) };
    return once(target, async () => doneWith(target, await attempt(data.do, body)));
  }
  if (data.open) return open(data.open);
  if (data.pick) return pick(data.pick);
  if (data.fill) return fill($(`#${data.fill}`), data.fill, {});
  if (data.more) return more(target);
  if ("edit" in data) return edit(true);
  if ("leave" in data) return leave();
  if ("close" in data) {
    drafts.delete(draftName(target.form));
    return dialog.close();
  }
  if ("all" in data) return $$("[name=chosen]").forEach((box) => (box.checked = true));
  if ("forgetChosen" in data) {
    const boxes = $$("[name=chosen]:checked");
    const body = { ids: boxes.map((box) => box.value), digests: boxes.map((box) => box.dataset.digest) };
    return once(target, async () => doneWith(target, await attempt("forget", body)));
  }
  if (target.id === "more-filters") return openFilters($("#filter-fields").hidden);
  return undefined;
});

// A row chosen before the last letters were asked for keeps them.
function rowAddress(id) {
  narrow.stop();
  const narrowed = [...new FormData($("#filters"))].filter(([, value]) => value);
  return `#/memories?${new URLSearchParams([...narrowed, ["id", id]])}`;
}

async function more(button) {
  const { id, ...narrowed } = address().query;
  button.disabled = true;
  const fragment = parsed(await view("memories", { ...narrowed, offset: button.dataset.more }));
  $("#list ul").append(...$$("li", fragment));
  const next = $("[data-more]", fragment);
  next ? button.replaceWith(next) : button.remove();
  mark();
}

// What was typed and not saved waits for who comes back, with the digest of the text that it changes.
const drafts = new Map(JSON.parse(sessionStorage.getItem(DRAFTS) ?? "[]"));
const draftName = (form) => form.elements.id?.value ?? `new ${form.elements.supersedes?.value ?? ""}`;

function keepDraft(form) {
  if (form.matches(".conflict") || fieldsOf(form).some(isTouched)) drafts.set(draftName(form), changed(form));
  else drafts.delete(draftName(form));
}

function restore(form) {
  const draft = drafts.get(draftName(form));
  if (!draft) return;
  for (const field of fieldsOf(form))
    if (field.name in draft) field[isCheckbox(field) ? "checked" : "value"] = draft[field.name];
  say("What you had typed is here again.");
}

function edit(isOpen) {
  const form = $("#beside form.edit");
  if (!form) return;
  if (isOpen) restore(form);
  else if (drafts.has(draftName(form))) say("Not saved: Edit brings back what you typed.");
  form.hidden = !isOpen;
  for (const part of $$("#beside .memory > .text, #beside .memory > .actions")) part.hidden = isOpen;
  isOpen ? $("textarea", form).focus() : $("#beside").focus();
}

async function leave() {
  const beside = $("#beside");
  drafts.delete(draftName($("form[data-form]", beside)));
  shown.delete(beside);
  await show(true);
  beside.focus();
}

// While letters come the server looks at the index alone; after the last one it looks at the files too.
const narrow = later(async () => {
  const values = Object.fromEntries(new FormData($("#filters")));
  state.isTyping = Boolean(values.q);
  const shows = go("memories", { ...values, id: main.clientWidth > 760 ? address().query.id : "" }, true);
  const isTyping = state.isTyping;
  state.isTyping = false;
  await shows;
  if (isTyping) settle();
}, 100);
const settle = later(() => {
  const { id, ...narrowed } = address().query;
  if ($("#list")) fill($("#list"), "memories", narrowed).then(mark);
}, 400);
const typed = later((words) => go("inbox", { words }, true).then(() => $("#inbox-words")?.focus()), 250);

window.addEventListener("pagehide", () => sessionStorage.setItem(DRAFTS, JSON.stringify([...drafts])));
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && $("#list") && !dialog.open && !$("#beside form:not([hidden]), #beside .conflict")) show(true);
});
window.addEventListener("beforeunload", (event) => {
  if (drafts.size) event.preventDefault();
});
document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-form]");
  if (form) keepDraft(form);
  if (event.target.closest("#filters")) {
    settle.stop();
    narrow();
  }
  else if (event.target.id === "inbox-words") typed(event.target.value);
});
document.addEventListener("reset", (event) => event.target.id === "filters" && setTimeout(narrow));
document.addEventListener("change", (event) => {
  if (event.target.id !== "choose-workspace") return;
  state.number = event.target.value;
  sessionStorage.setItem(NUMBER, state.number);
  state.view = "";
  go("memories", {}).then(refreshCount);
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method === "dialog") return;
  event.preventDefault();
  if (form.dataset.form) once(form, () => submit(form));
  else if (form.id === "prompt") fill($("#recalled"), "recalled", { q: $("#prompt-text").value });
  else if (form.id === "filters") $("#list .row")?.focus();
});
window.addEventListener("popstate", () => show());
window.addEventListener("unhandledrejection", (event) => {
  if (event.reason?.name !== "AbortError" && !(event.reason instanceof Refused)) return;
  event.preventDefault();
  if (event.reason instanceof Refused) say(event.reason.message, null, true);
});

const KEYS = {
  "/": () => ($("#q, #inbox-words, #prompt-text") ?? { focus: () => go("memories", {}).then(() => $("#q")?.focus()) }).focus(),
  "?": () => open("help"),
  n: () => open("new"),
  u: takeBack,
  e: () => edit(true),
  j: () => step(1),
  ArrowDown: () => step(1),
  k: () => step(-1),
  ArrowUp: () => step(-1),
  Enter: () => $("#beside")?.focus(),
};

document.addEventListener("keydown", (event) => {
  refreshCount.putOff();
  if (event.isComposing) return undefined;
  const field = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && field?.form) return field.form.requestSubmit();
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
  if (event.key === "Escape" && !dialog.open) {
    if (event.target.closest("form.edit")) return edit(false);
    if (field) {
      event.preventDefault(); // a field of searching would lose its words, and the list would not know
      return (($("#list .row[aria-current]") ?? $("#list .row")) ?? main).focus();
    }
    return state.id && main.clientWidth <= 760 ? go("memories", { ...address().query, id: "" }) : undefined;
  }
  if (field?.id === "q" && event.key === "ArrowDown") {
    event.preventDefault();
    return step(0);
  }
  if (field) return undefined;
  if (event.repeat && !["j", "k", "ArrowDown", "ArrowUp"].includes(event.key)) return event.key === "Enter" ? event.preventDefault() : undefined;
  if (dialog.open || event.target.closest("form[data-form]")) return undefined;
  const number = "123456".indexOf(event.key);
  if (event.key.length === 1 && number >= 0) return go(VIEWS[number], {});
  if (event.key === "Enter" && event.target.closest("a, button, summary") && !event.target.matches("#list .row")) return undefined;
  const around = event.target.closest(".question") ?? $("#beside .memory");
  const button = around && $(`[data-key="${CSS.escape(event.key)}"]`, around);
  const job = button && !button.closest("[hidden]") ? () => button.click() : KEYS[event.key];
  if (!job || (event.key.startsWith("Arrow") && event.target.closest("[tabindex]:not(.question, main), #beside"))) return undefined;
  event.preventDefault();
  return job();
});

function step(by) {
  const rows = $$(state.view === "memories" ? "#list .row" : ".question, .change button", main);
  if (!rows.length) return;
  const index = rows.findIndex((row) => row === document.activeElement || row.dataset.id === state.id && state.id);
  const next = rows[Math.max(0, Math.min(rows.length - 1, index < 0 ? 0 : index + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  if (next.dataset.id && main.clientWidth > 760) {
    history.replaceState(null, "", rowAddress(next.dataset.id));
    stepped();
  }
}
const stepped = later(() => show(), 80);

if (token) show().then(refreshCount);
else main.replaceChildren(paragraph("Open the address that `mem ui` printed: it has the token of this run.", "banner warn"));
