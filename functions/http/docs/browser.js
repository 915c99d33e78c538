// Of the docs page, in the browser: sends the requests that are tried. The page stands beside the API's paths.
const SHOWN_CHARACTERS = 200_000

document.querySelector('#address').textContent = new URL('.', location.href).href.replace(/\/$/, '')

for (const form of document.querySelectorAll('form')) {
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
