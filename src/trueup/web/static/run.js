// A run's timeline: more of it while somebody scrolls, what is new while it goes on, and never all of it at once.
import { elements, listen, showTimes, tick } from "./live.js"

const MOST_ROWS = 1000
const PAGE = 200
// How near to the end of the page a reader is at its end, in pixels.
const NEAR = 120

const list = document.querySelector("ol.timeline")
const earlier = document.getElementById("earlier")
const later = document.getElementById("later")
const end = document.getElementById("end")
const follow = document.getElementById("follow")
const run = `/runs/${list.dataset.run}`

let count = Number(list.dataset.count)
let ended = "ended" in list.dataset
// Nothing comes any more: also what a run cost can still be added up when it has ended.
let isDone = ended && document.querySelector("#facts [data-pending]") === null
let loading = false

const first = () => Number(list.firstElementChild?.dataset.seq ?? Number(list.dataset.after) + 1)
const last = () => Number(list.lastElementChild?.dataset.seq ?? list.dataset.after)
const isWhole = () => last() >= count - 1
const isAtEnd = () => window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - NEAR

/** Does something to the list without moving what is being read. */
function inPlace(stays, change) {
  const before = stays?.getBoundingClientRect().top
  change()
  if (stays?.isConnected) window.scrollBy({ top: stays.getBoundingClientRect().top - before, behavior: "instant" })
}

function tell() {
  earlier.hidden = first() <= 0
  earlier.firstElementChild.href = `?after=${Math.max(-1, first() - 1 - PAGE)}`
  later.hidden = isWhole()
  later.firstElementChild.href = `?after=${last()}`
  end.textContent = isWhole()
    ? ended ? "The run has ended." : "The run goes on."
    : `${(last() + 1).toLocaleString("en")} of ${count.toLocaleString("en")} records`
}

function append(rows, isNew) {
  for (const row of rows) {
    if (Number(row.dataset.seq) <= last()) continue
    if (isNew) row.classList.add("new")
    list.append(row)
  }
  const excess = list.childElementCount - MOST_ROWS
  if (excess > 0) inPlace(list.lastElementChild, () => { for (let each = 0; each < excess; each++) list.firstElementChild.remove() })
}

function prepend(rows) {
  inPlace(list.firstElementChild, () => list.prepend(...rows.filter((row) => Number(row.dataset.seq) < first())))
  while (list.childElementCount > MOST_ROWS) list.lastElementChild.remove()
}

async function load(after, until, show) {
  if (loading) return
  loading = true
  try {
    const answer = await fetch(`${run}/rows?after=${after}&until=${until}`)
    if (!answer.ok) return
    count = Math.max(count, Number(answer.headers.get("Record-Count")))
    const wasWhole = isWhole()
    show(elements(await answer.text()))
    tell()
    if (wasWhole !== isWhole()) stream.open()
  } finally {
    loading = false
    // An observer tells of changes only, and what it waits for may be in sight as before.
    observer.unobserve(later)
    observer.observe(later)
  }
}

const loadLater = () => load(last(), last() + PAGE, (rows) => append(rows, false))
const loadEarlier = () => load(Math.max(-1, first() - 1 - PAGE), first() - 1, prepend)

function take(html) {
  const wasAtEnd = isAtEnd()
  const rows = elements(html)
  // Somebody who reads further up is not pushed away: what is new is loaded when they come to it.
  if (!wasAtEnd && list.childElementCount + rows.length > MOST_ROWS) {
    count = Math.max(count, Number(rows.at(-1).dataset.seq) + 1)
    stream.open()
  } else {
    append(rows, true)
    count = Math.max(count, last() + 1)
    if (wasAtEnd && follow?.checked) window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" })
  }
  tell()
}

const stream = listen(
  () => (isDone ? null : `/live/runs/${list.dataset.run}${isWhole() ? `?after=${last()}` : ""}`),
  {
    rows: take,
    facts: (html) => {
      document.getElementById("facts").replaceChildren(...elements(html))
      showTimes()
    },
    ended: () => {
      ended = isDone = true
      stream.close()
      document.getElementById("following")?.remove()
      tell()
    },
  },
)

const observer = new IntersectionObserver(([seen]) => { if (seen.isIntersecting) loadLater() }, { rootMargin: "800px" })
observer.observe(later)
earlier.addEventListener("click", (event) => { event.preventDefault(); loadEarlier() })

// The whole of what is folded, where it is not too much for a page.
list.addEventListener("click", async (event) => {
  const link = event.target.closest("a.whole")
  if (link === null || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  const answer = await fetch(link.href)
  if (!answer.ok || Number(answer.headers.get("Content-Length")) > 4_000_000) {
    window.location = link.href
    return
  }
  const shown = link.parentElement.querySelector("pre")
  shown.textContent = await answer.text()
  shown.tabIndex = -1
  shown.focus()
  link.remove()
})

if (follow !== null) {
  document.getElementById("following").hidden = false
  follow.checked = isWhole() && isAtEnd()
  follow.addEventListener("change", () => {
    if (!follow.checked) return
    if (isWhole()) window.scrollTo({ top: document.documentElement.scrollHeight })
    else window.location = `${run}?last#end`
  })
  window.addEventListener("scroll", () => { if (isWhole()) follow.checked = isAtEnd() }, { passive: true })
}

tick()
