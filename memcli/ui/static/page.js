// The page works without this script. It adds search while you type, keys, checkboxes and "Copy path".

const search = document.querySelector("#filters");
const results = document.querySelector("#results");
const message = document.querySelector("#message");
const PAUSE = 400; // milliseconds without a letter, after which the complete search starts
let running = null; // the request for hits

function say(text) {
  message.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => (message.textContent = ""), 3000);
}

function getAddress() {
  const values = [...new FormData(search)].filter(([name, value]) => value && !(name === "w" && value === "0"));
  return new URLSearchParams(values);
}

// Show the hits of the typed text. A newer request cancels an older one.
async function update(part) {
  running?.abort();
  const control = (running = new AbortController());
  const query = getAddress();
  history.replaceState(null, "", `memories${query.size ? `?${query}` : ""}`);
  query.set("part", part);
  try {
    const response = await fetch(`memories?${query}`, { signal: control.signal });
    const html = await response.text();
    if (control.signal.aborted) return;
    if (!response.ok) return say("The search failed. Press Enter to see why.");
    if (html !== update.shown) results.innerHTML = update.shown = html;
    results.dataset.query = query.get("q") ?? "";
  } catch (error) {
    if (error.name !== "AbortError") say("mem ui is not running any more. Start it again.");
  }
}

// Each letter searches the index. New files and the team's server wait for a pause.
function updateSoon() {
  clearTimeout(updateSoon.timer);
  if (search.q.value) updateSoon.timer = setTimeout(update, PAUSE, "all");
  return update("hits");
}

async function openFirst(event) {
  event.preventDefault();
  clearTimeout(updateSoon.timer);
  // The hits may be those of an earlier letter.
  if (results.dataset.query !== search.q.value) await update("all");
  const first = results.querySelector("a.row");
  // The whole page says why a search failed.
  if (results.dataset.query !== search.q.value) search.submit();
  else if (first) location.href = first.href;
}

if (search) {
  results.dataset.query = search.q.value;
  search.addEventListener("input", updateSoon);
  search.addEventListener("submit", openFirst);
  search.querySelector("button").hidden = true;
  // With autofocus, the browser would set the focus with the first frame. A person may type before.
  search.q.focus();
  search.q.setSelectionRange(search.q.value.length, search.q.value.length);
}

function moveFocus(step) {
  const rows = [...document.querySelectorAll("a.row")];
  const position = rows.indexOf(document.activeElement);
  const next = rows[position + step];
  if (next) next.focus();
  else if (position + step < 0) search.q.focus();
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("textarea, select, input:not([type=search], [type=checkbox])");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form?.requestSubmit();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (search && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    moveFocus(event.key === "ArrowDown" ? 1 : -1);
  }
  // In an empty search field, which has the focus at the start, the shortcut types no slash.
  if (event.key === "/" && !event.target.matches("[type=search]:not(:placeholder-shown)")) {
    event.preventDefault();
    if (search) search.q.select();
    else document.querySelector(".brand").click();
  }
});

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    say("Copied.");
  });
}

// A click on a checkbox sends the form that saves its line.
const task = document.querySelector("#task");
for (const box of task ? document.querySelectorAll(".memory .task > input, .memory .task > p > input") : []) {
  box.disabled = false;
  box.addEventListener("change", () => {
    task.value = box.dataset.line;
    task.form.requestSubmit();
  });
}

// Show the number of open questions. It may come after the page.
const pending = document.querySelector("#pending");
if (pending) {
  const workspace = new URLSearchParams(location.search).get("w") ?? "";
  setTimeout(async () => {
    // The browser caches the number for a minute. An action may have changed it.
    const cache = /\/review|done=/.test(location.href) ? "reload" : "default";
    const response = await fetch(`pending?w=${workspace}`, { cache }).catch(() => null);
    if (response?.ok) pending.textContent = await response.text();
  }, 500);
}

// Ask before typed text is lost.
const text = document.querySelector("textarea");
let isSaved = false;
text?.form.addEventListener("submit", () => (isSaved = true));
addEventListener("beforeunload", (event) => {
  if (text && !isSaved && text.value !== text.defaultValue) event.preventDefault();
});
