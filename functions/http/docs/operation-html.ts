import { html } from 'hono/html'
import {
  exampleOf,
  needsKey,
  resolveSchema,
  type ApiDocument,
  type Content,
  type Operation,
  type Parameter,
} from './document.ts'
import { entryHtml, fieldHtml, fieldsHtml, joined, prose, typeHtml, type Html } from './schema-html.ts'

const JSON_TYPE = 'application/json'
const PROBLEM_TYPE = 'application/problem+json'

type Response = [status: string, Operation['responses'][string]]

export interface OperationAddress {
  readonly method: string
  /** The path as in the document, with parameter names in braces. */
  readonly path: string
}

/** Renders one operation: its input, its responses, an example, and a form to try it. */
export function operationHtml(document: ApiDocument, address: OperationAddress, operation: Operation): Html {
  const { method, path } = address
  const parameters = operation.parameters ?? []
  const responses: Response[] = Object.entries(operation.responses)
  const refusals = responses.filter(([, { content }]) => content?.[PROBLEM_TYPE] !== undefined)
  const line = html`<h3><span class="method ${method}">${method}</span> <code>${path}</code></h3>
    <span class="summary">${prose(operation.summary)}</span>`
  const content = html`<p>${prose(operation.description)}</p>
    <div class="columns">
      <div>
        ${
          parameters.length === 0
            ? ''
            : html`<h4>Parameters</h4>
                <dl>${parameters.map(parameterHtml)}</dl>`
        }
        ${bodyHtml(document, operation.requestBody?.content)}
        <h4>Responses</h4>
        <dl>${responses.filter((response) => !refusals.includes(response)).map(responseHtml)}</dl>
        ${refusals.length === 0 ? '' : refusalsHtml(refusals)}
      </div>
      <div>
        ${requestHtml(document, address, operation)} ${responseExampleHtml(document, operation)}
        ${tryHtml(document, address, operation)}
      </div>
    </div>`
  return entryHtml(operation.operationId, line, content)
}

/** Renders the error responses. They are collapsed, because an operation has many similar ones. */
const refusalsHtml = (refusals: readonly Response[]): Html =>
  html`<details>
    <summary>Refused with ${refusals.map(([status]) => status).join(', ')}</summary>
    <p>Each is a <a href="#Problem">Problem</a>.</p>
    <dl>${refusals.map(responseHtml)}</dl>
  </details>`

const parameterHtml = ({ name, in: place, description, required = false, schema }: Parameter): Html =>
  fieldHtml(name, description === undefined ? schema : { ...schema, description }, required, place)

function bodyHtml(document: ApiDocument, content: Content | undefined): Html {
  const schema = content?.[JSON_TYPE]?.schema
  if (schema === undefined) return html``
  return html`<h4>Body: ${typeHtml(schema)}</h4>
    ${fieldsHtml(resolveSchema(document, schema))}`
}

function responseHtml([status, { description, content = {} }]: Response): Html {
  const types = Object.entries(content).flatMap(([type, { schema }]) =>
    schema === undefined || type === PROBLEM_TYPE ? [] : [html`${typeHtml(schema)} as ${type}`],
  )
  return html`<dt><code class="status">${status}</code> ${joined(types, ', or ')}</dt>
    <dd>${prose(description)}</dd>`
}

const pretty = (value: unknown): string => JSON.stringify(value, null, 2)
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The request as a command for a terminal. */
function requestHtml(document: ApiDocument, { method, path }: OperationAddress, operation: Operation): Html {
  const example = (name: string): string => {
    const parameter = operation.parameters?.find((one) => one.name === name)
    return encodeURIComponent(String(parameter === undefined ? '' : exampleOf(document, parameter.schema)))
  }
  const query = (operation.parameters ?? [])
    .filter((parameter) => parameter.in === 'query' && parameter.required === true)
    .map(({ name }) => `${name}=${example(name)}`)
  const body = exampleBody(document, operation)
  const address = `$TOOLTRAIL${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => example(name))}`
  const lines = [
    `curl -s "${[address, ...query].join('?')}"`,
    ...(method === (body === undefined ? 'get' : 'post') ? [] : [`-X ${method.toUpperCase()}`]),
    ...(!needsKey(document) ? [] : [`-H "authorization: Bearer $KEY"`]),
    ...(body === undefined ? [] : [`-H 'content-type: ${JSON_TYPE}'`, `-d ${quoted(pretty(body))}`]),
  ]
  return html`<h4>Request</h4>
    <pre>${lines.join(' \\\n  ')}</pre>`
}

function exampleBody(document: ApiDocument, { requestBody }: Operation): unknown {
  const schema = requestBody?.content[JSON_TYPE]?.schema
  return schema === undefined ? undefined : exampleOf(document, schema)
}

function responseExampleHtml(document: ApiDocument, { responses }: Operation): Html {
  const found = Object.entries(responses).flatMap(([status, { content }]) => {
    const schema = content?.[JSON_TYPE]?.schema
    return schema === undefined || status >= '400' ? [] : [{ status, schema }]
  })[0]
  if (found === undefined) return html``
  return html`<h4>Response ${found.status}</h4>
    <pre>${pretty(exampleOf(document, found.schema))}</pre>`
}

/** A form that the page's script submits. */
function tryHtml(document: ApiDocument, { method, path }: OperationAddress, operation: Operation): Html {
  const body = exampleBody(document, operation)
  const types = Object.entries(operation.responses).flatMap(([status, { content = {} }]) =>
    status < '400' ? Object.keys(content) : [],
  )
  const accepted = [...new Set(types)]
  return html`<details class="try">
    <summary>Try it</summary>
    <form data-method="${method}" data-path="${path}">
      ${(operation.parameters ?? []).map((parameter) => inputHtml(document, parameter))}
      ${
        accepted.length < 2
          ? ''
          : html`<label
              >accept
              <select name="accept" data-in="header">
                ${accepted.map((type) => html`<option>${type}</option>`)}
              </select>
            </label>`
      }
      ${body === undefined ? '' : html`<label>body<textarea name="body" rows="6">${pretty(body)}</textarea></label>`}
      <button>Send</button>
    </form>
    <pre class="shown" hidden aria-live="polite" role="region" aria-label="Response" tabindex="0"></pre>
  </details>`
}

function inputHtml(document: ApiDocument, { name, in: place, required = false, schema }: Parameter): Html {
  const example = String(exampleOf(document, schema))
  return html`<label
    >${name}
    <input
      name="${name}"
      data-in="${place}"
      placeholder="${example}"
      autocomplete="off"
      ${required ? 'required' : ''}
    />
  </label>`
}
