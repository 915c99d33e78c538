import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { html, raw } from 'hono/html'
import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { sha256 } from '../../domain/hash.ts'
import { needsKey, type ApiDocument, type Operation, type Schema } from './document.ts'
import { operationHtml, type OperationAddress } from './operation-html.ts'
import { entryHtml, fieldsHtml, prose, type Html } from './schema-html.ts'

/** The page's own style and script, which are inlined. */
export interface PageAssets {
  readonly style: string
  readonly script: string
}

/** Reads the assets from the source tree, or from the folder of a bundle. */
export async function readPageAssets(folder = import.meta.dirname): Promise<PageAssets> {
  const read = (file: string): Promise<string> => readFile(join(folder, file), 'utf8')
  return { style: await read('page.css'), script: await read('browser.js') }
}

interface Entry {
  readonly address: OperationAddress
  readonly operation: Operation
}

/**
 * Renders the API reference as one page. The page loads nothing else until its reader tries a request. Rendering yields
 * to the event loop between operations.
 */
export async function docsPage(document: ApiDocument, { style, script }: PageAssets): Promise<string> {
  const { title, version, description } = document.info
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Entry => ({ address: { method, path }, operation })),
  )
  const sections = (document.tags ?? []).map(({ name }) => ({
    name,
    entries: entries.filter(({ operation }) => operation.tags.includes(name)),
  }))
  const schemas = Object.entries(document.components.schemas)
  const articles = new Map<Operation, Html>()
  for (const { address, operation } of entries) {
    articles.set(operation, operationHtml(document, address, operation))
    await yieldToEventLoop()
  }
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title} API</title>
        <link rel="icon" href="data:," />
        ${raw(`<style>${style}</style>`)}
      </head>
      <body>
        <nav>
          <a class="home" href="#top">${title} <small>${version}</small></a>
          <form class="search" role="search">
            <label>Search operations and schemas<input type="search" autocomplete="off" /></label>
            <p role="status"></p>
          </form>
          ${sections.map((section) => menuHtml(section.name, section.entries))}
          <section>
            <h2><a href="#schemas">Schemas</a></h2>
            <ul>
              ${schemas.map(([name]) => html`<li><a href="#${name}">${name}</a></li>`)}
            </ul>
          </section>
        </nav>
        <main id="top">
          <h1>${title} API</h1>
          <p>${prose(description)} As a document for programs: <a href="openapi.json">OpenAPI 3.1</a>.</p>
          ${keyHtml(document)}
          ${sections.map(
            (section) =>
              html`<section>
                <h2>${section.name}</h2>
                ${section.entries.map(({ operation }) => articles.get(operation))}
              </section>`,
          )}
          <section>
            <h2 id="schemas">Schemas</h2>
            ${schemas.map(([name, schema]) => schemaHtml(name, schema))}
          </section>
        </main>
        ${raw(`<script>${script}</script>`)}
      </body>
    </html>`
  return String(await page)
}

const menuHtml = (name: string, entries: readonly Entry[]): Html =>
  html`<section>
    <h2>${name}</h2>
    <ul>
      ${entries.map(
        ({ address: { method }, operation: { operationId, summary } }) =>
          html`<li>
            <a href="#${operationId}">${summary} <span class="method ${method}">${method}</span></a>
          </li>`,
      )}
    </ul>
  </section>`

const schemaHtml = (name: string, schema: Schema): Html =>
  entryHtml(
    name,
    html`<h3>${name}</h3>`,
    html`<p>${prose(schema.description)}</p>
      ${fieldsHtml(schema)}`,
  )

/**
 * Renders the description of authentication, and the field for the API key. The page sends that key with the requests
 * that its reader tries.
 */
function keyHtml(document: ApiDocument): Html {
  const { components } = document
  const { description } = components.securitySchemes?.['key'] ?? {}
  const example = 'TOOLTRAIL=<span id="address">https://…</span>'
  return html`<p>${prose(description)}</p>
    <pre>${raw(example)}${!needsKey(document) ? '' : ' KEY=tt_…'}   # for the commands below</pre>
    ${
      !needsKey(document)
        ? ''
        : html`<label class="key"
            >Key for requests tried here; it stays in this page
            <input id="key" type="password" autocomplete="off" placeholder="tt_…"
          /></label>`
    }`
}

/** The content security policy: the page may run only its own script and style, and connect only to its own server. */
export function docsPolicy({ style, script }: PageAssets): string {
  const hash = (text: string): string => `'sha256-${sha256(text, 'base64')}'`
  return [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
