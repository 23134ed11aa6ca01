// Keeps the list of sessions up to date.
import { elements, listen } from "./live.js"

const list = document.getElementById("sessions")

function show(html) {
  const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null
  const known = new Set([...list.querySelectorAll("tbody tr")].map((row) => row.id))
  const fresh = elements(html)
  for (const row of fresh.flatMap((each) => [...each.querySelectorAll("tbody tr")])) row.classList.toggle("new", !known.has(row.id))
  list.replaceChildren(...fresh)
  if (focused !== null) list.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus()
}

listen(() => list.dataset.live, { part: show })
