/** Address and key of Tooltrail. The key stays on this server. */
const { TOOLTRAIL_URL = 'http://127.0.0.1:3000', TOOLTRAIL_KEY } = process.env

/** Requests that the page sends. Every other request is refused. */
const ALLOWED = [
  /^POST v1\/chat$/,
  /^GET v1\/chat\/[^/]+$/,
  /^GET v1\/chat\/[^/]+\/stream$/,
  /^GET v1\/sessions$/,
  /^POST v1\/sessions\/[^/]+\/runs\/[^/]+\/cancel$/,
]

interface Route {
  readonly params: Promise<{ readonly path: readonly string[] }>
}

/** Sends a request of the page to Tooltrail, with the key. The response is streamed. */
async function forward(request: Request, { params }: Route): Promise<Response> {
  // Your app checks here who its user is.
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return Response.json({ error: 'only for this app' }, { status: 403 })
  const path = (await params).path.map(encodeURIComponent).join('/')
  if (!ALLOWED.some((allowed) => allowed.test(`${request.method} ${path}`)))
    return Response.json({ error: 'not a request of this app' }, { status: 404 })
  const { search } = new URL(request.url)
  const response = await fetch(`${TOOLTRAIL_URL}/${path}${search}`, {
    method: request.method,
    headers: {
      'content-type': 'application/json',
      ...(TOOLTRAIL_KEY === undefined ? {} : { authorization: `Bearer ${TOOLTRAIL_KEY}` }),
    },
    ...(request.method === 'POST' ? { body: await request.text() } : {}),
    // A page that was closed needs no stream. Its run continues.
    signal: request.signal,
    redirect: 'manual',
    cache: 'no-store',
  })
  const headers = new Headers({ 'cache-control': 'no-store' })
  for (const name of ['content-type', 'retry-after', 'x-vercel-ai-ui-message-stream']) {
    const value = response.headers.get(name)
    if (value !== null) headers.set(name, value)
  }
  return new Response(response.body, { status: response.status, headers })
}

export const GET = forward
export const POST = forward
