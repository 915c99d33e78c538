const PAGE = 2_000

interface Hit {
  readonly _id: string
  readonly _version: number
  readonly _source: object
  readonly sort: readonly unknown[]
}

/** All documents of a history index by id: version and content. */
export async function indexContents(endpoint: string, alias: string): Promise<Map<string, object>> {
  await ask(`${endpoint}/${alias}/_refresh`, {})
  const found = new Map<string, object>()
  let after: Hit['sort'] | undefined
  for (;;) {
    const next = after === undefined ? {} : { search_after: after }
    const query = { size: PAGE, version: true, sort: [{ event: 'asc' }, { part: 'asc' }], ...next }
    const page = (await ask(`${endpoint}/${alias}/_search`, query)) as { readonly hits: { readonly hits: Hit[] } }
    const { hits } = page.hits
    for (const { _id, _version, _source } of hits) found.set(_id, { _version, ..._source })
    if (hits.length === 0) return found
    after = hits.at(-1)?.sort
  }
}

async function ask(url: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`POST ${url}: ${response.status} ${await response.text()}`)
  return response.json()
}
