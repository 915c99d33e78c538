// The docs page's script: searches, opens entries, and sends the requests that are tried. The page is beside the API's paths.
const SHOWN_CHARACTERS = 200_000

document.querySelector('#address').textContent = new URL('.', location.href).href.replace(/\/$/, '')

const search = document.querySelector('.search')
const [field] = search.elements
const entries = [...document.querySelectorAll('article')].map((article) => {
  const texts = [...article.querySelectorAll('details > summary, article > details > p, .name')].map(
    (one) => one.textContent,
  )
  const link = document.querySelector(`nav li a[href="#${CSS.escape(article.id)}"]`)
  return { article, link, text: [article.id, ...texts].join('\n').toLowerCase() }
})

/** Hides entries that lack a word of the search, and sections without a visible entry. */
function filter() {
  const words = field.value.toLowerCase().split(/\s+/)
  for (const { article, link, text } of entries)
    article.hidden = link.parentElement.hidden = !words.every((word) => text.includes(word))
  for (const section of document.querySelectorAll('section'))
    section.hidden = section.querySelector('article:not([hidden]), li:not([hidden])') === null
  const found = entries.filter(({ article }) => !article.hidden)
  const counted = found.length === 0 ? `Nothing matches “${field.value}”` : `${found.length} of ${entries.length}`
  search.querySelector('p').textContent = found.length === entries.length ? '' : counted
  return found
}

/** Opens the entry that the address names. If the search hides the entry, the search is cleared. */
function openTarget() {
  const article = entries.find(({ article }) => location.hash === `#${article.id}`)?.article
  if (article === undefined) return
  if (article.hidden) field.value = ''
  filter()
  const details = article.querySelector('details')
  details.open = true
  details.querySelector('summary').focus({ preventScroll: true })
  article.scrollIntoView()
}

field.addEventListener('input', () => {
  filter()
  document.querySelector('main section:not([hidden])')?.scrollIntoView()
})
search.addEventListener('submit', (event) => {
  event.preventDefault()
  filter()[0]?.link.click()
})
addEventListener('hashchange', openTarget)
addEventListener('click', (event) => {
  // With these keys, the browser opens the link in another tab or window, or saves it.
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  // A link to the address that is already shown causes no `hashchange`.
  if (event.target.closest('nav li a, article a')?.hash !== location.hash) return
  event.preventDefault()
  openTarget()
})
filter()
// Before this event, the browser's own scroll to the entry would remove the focus.
addEventListener('load', openTarget)

for (const form of document.querySelectorAll('form[data-path]')) {
  const shown = form.parentElement.querySelector('.shown')
  let current = new AbortController()
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    current.abort()
    const { signal } = (current = new AbortController())
    shown.hidden = false
    shown.textContent = '…'
    send(form, shown, signal).catch((error) => {
      if (!signal.aborted) shown.textContent = String(error)
    })
  })
}

async function send(form, shown, signal) {
  const filled = [...form.elements].filter(({ dataset, value }) => dataset.in !== undefined && value !== '')
  const placed = (place) => filled.filter(({ dataset }) => dataset.in === place).map(({ name, value }) => [name, value])
  const values = Object.fromEntries(placed('path'))
  const path = form.dataset.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name]))
  const query = new URLSearchParams(placed('query')).toString()
  const headers = new Headers(placed('header'))
  const key = document.querySelector('#key')?.value
  if (key) headers.set('authorization', `Bearer ${key}`)
  const body = form.elements.body?.value
  if (body !== undefined) headers.set('content-type', 'application/json')
  const address = new URL(path.slice(1) + (query && `?${query}`), location.href)
  const response = await fetch(address, { method: form.dataset.method.toUpperCase(), headers, body, signal })
  await show(response, shown)
}

/** As it comes in: a stream of events may go on for long. */
async function show(response, shown) {
  const head = `${response.status} ${response.statusText}\n\n`
  shown.textContent = head
  let text = ''
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
    text = (text + part.value).slice(-SHOWN_CHARACTERS)
    shown.textContent = head + text
  }
  const [type] = (response.headers.get('content-type') ?? '').split(';')
  if (type.endsWith('json') && text.length < SHOWN_CHARACTERS)
    shown.textContent = head + JSON.stringify(JSON.parse(text), null, 2)
}
