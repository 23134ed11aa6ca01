// Keeps the list of runs up to date: new ones come in at the top, those that go on change.
import { elements, listen, replace, showTimes, tick } from "./live.js"

const MOST_ROWS = 500

const table = document.querySelector("table.runs")
const body = table.tBodies[0]
const isFirstPage = !new URLSearchParams(table.dataset.live.split("?")[1]).has("before")

function show(html) {
  const [row] = elements(html)
  const old = document.getElementById(row.id)
  if (old !== null) {
    replace(old, row)
  } else if (isFirstPage) {
    row.classList.add("new")
    body.prepend(row)
    document.getElementById("none")?.remove()
    while (body.rows.length > MOST_ROWS) forgetTheLast()
  }
  showTimes()
}

function forgetTheLast() {
  body.lastElementChild.remove()
  const older = document.getElementById("older")
  if (older === null) return
  const address = new URL(older.href)
  address.searchParams.set("before", body.lastElementChild.dataset.place)
  older.href = address
}

listen(() => table.dataset.live, { row: show })
tick()
