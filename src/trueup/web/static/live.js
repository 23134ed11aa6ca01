// What a page is told while somebody looks at it: Server-Sent Events, each a fragment of HTML that the daemon rendered.

const AGAIN_MS = 5000

/**
 * Listens while the page is visible: a browser has few connections, and a hidden page needs none.
 * `address` gives where, each time anew, or null where there is nothing to hear; `hear` has a function for each event.
 */
export function listen(address, hear) {
  let source = null
  let again = null

  function close() {
    clearTimeout(again)
    source?.close()
    source = null
  }

  function open() {
    close()
    const where = document.hidden ? null : address()
    if (where === null) return
    source = new EventSource(where)
    for (const [name, take] of Object.entries(hear)) source.addEventListener(name, (event) => take(event.data))
    // The browser comes again by itself, except to a daemon that turned it away.
    source.addEventListener("error", () => { if (source?.readyState === EventSource.CLOSED) again = setTimeout(open, AGAIN_MS) })
  }

  document.addEventListener("visibilitychange", open)
  open()
  return { open, close: () => { document.removeEventListener("visibilitychange", open); close() } }
}

/** The elements of a fragment. Rows of a table are none outside of one, so it is parsed as a template. */
export function elements(html) {
  const template = document.createElement("template")
  template.innerHTML = html
  return [...template.content.children]
}

/** Puts an element in the place of another, and gives it the focus that the other had. */
export function replace(old, fresh) {
  const focused = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null
  old.replaceWith(fresh)
  if (focused !== null) fresh.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus()
}

/** Says for how long something goes on already. */
export function showTimes() {
  for (const time of document.querySelectorAll("time.since")) time.textContent = span((Date.now() - Date.parse(time.dateTime)) / 1000)
}

/** Keeps these times up to date. */
export function tick() {
  showTimes()
  setInterval(showTimes, 1000)
}

function span(seconds) {
  const whole = Math.max(0, Math.round(seconds))
  const minutes = Math.floor(whole / 60)
  const padded = (number) => String(number).padStart(2, "0")
  if (minutes === 0) return `${whole} s`
  return minutes < 60 ? `${minutes} min ${padded(whole % 60)} s` : `${Math.floor(minutes / 60)} h ${padded(minutes % 60)} min`
}
