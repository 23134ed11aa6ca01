// Keeps the page of a session up to date. What somebody unfolded, typed or has the focus on stays as it is.
import { elements, listen } from "./live.js"

const page = document.getElementById("session")

function show(html) {
  for (const fresh of elements(html)) {
    const old = document.getElementById(fresh.id)
    if (old !== null) Object.assign(old.dataset, fresh.dataset)
    // What is read aloud when it changes must not be touched when it does not.
    if (old !== null && old.innerHTML !== fresh.innerHTML) update(old, fresh)
  }
}

function update(old, fresh) {
  for (const details of fresh.querySelectorAll("details[data-fold]")) {
    const before = old.querySelector(`details[data-fold="${CSS.escape(details.dataset.fold)}"]`)
    if (before !== null) details.open = before.open
  }
  for (const field of fresh.querySelectorAll("textarea[id]")) {
    const before = old.querySelector(`#${CSS.escape(field.id)}`)
    if (before !== null) field.value = before.value
  }
  const focus = old.contains(document.activeElement) ? whereFocusIs() : null
  old.replaceChildren(...fresh.childNodes)
  focus?.()
}

/** A function that puts the focus where it is now, in what comes in its place. */
function whereFocusIs() {
  const { id, selectionStart, selectionEnd } = document.activeElement
  const fold = document.activeElement.closest("details[data-fold]")?.dataset.fold
  return () => {
    const found = id ? document.getElementById(id) : fold === undefined ? null : document.querySelector(`details[data-fold="${CSS.escape(fold)}"] summary`)
    found?.focus({ preventScroll: true })
    if (found !== null && selectionStart !== undefined && "setSelectionRange" in found) found.setSelectionRange(selectionStart, selectionEnd)
  }
}

/** A link to a line that is folded away unfolds it. */
function unfoldTarget() {
  const target = location.hash ? document.getElementById(location.hash.slice(1)) : null
  const details = target?.closest("details")
  if (details && !details.open) {
    details.open = true
    target.scrollIntoView()
  }
}

// A second click sends nothing again; who comes back to the page can send anew.
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) event.preventDefault()
  event.target.dataset.sent = "yes"
})
addEventListener("pageshow", () => { for (const form of document.forms) delete form.dataset.sent })
addEventListener("hashchange", unfoldTarget)
unfoldTarget()

if (page?.dataset.live) {
  const address = () => `${page.dataset.live}?until=${encodeURIComponent(document.getElementById("state").dataset.known)}`
  const stream = listen(address, { part: show, end: () => stream.close() })
}
