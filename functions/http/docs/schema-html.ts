import { html } from 'hono/html'
import { referredName, type Schema } from './document.ts'

/** Escaped markup; `html` escapes everything else in a template. */
export type Html = ReturnType<typeof html>

/** Joins markup with a separator. */
export const joined = (parts: readonly unknown[], between: string): Html =>
  html`${parts.map((part, place) => (place === 0 ? part : html`${between}${part}`))}`

/** Renders a description; text between backticks becomes code. */
export const prose = (text: string | undefined): Html =>
  html`${(text ?? '').split('`').map((piece, place) => (place % 2 === 1 ? html`<code>${piece}</code>` : piece))}`

/** Renders a schema's type in a few words. A named type links to its section on the page. */
export function typeHtml(schema: Schema): Html {
  const name = referredName(schema)
  if (name !== undefined) return html`<a href="#${name}">${name}</a>`
  if (schema.enum !== undefined)
    return joined(
      schema.enum.map((value) => html`<code>${JSON.stringify(value)}</code>`),
      ' or ',
    )
  const variants = schema.oneOf ?? schema.anyOf
  if (variants?.every((variant) => variant.properties !== undefined) === true)
    return html`one of ${variants.length} objects`
  if (variants !== undefined) return joined(variants.map(typeHtml), ' or ')
  if (schema.items !== undefined) return html`array of ${typeHtml(schema.items)}`
  const types = schema.type === undefined ? ['any JSON'] : [schema.type].flat()
  return html`${types.join(' or ')}${schema.format === undefined ? '' : ` (${schema.format})`}`
}

/** Renders the limits of the schema's values, and its default. */
function limitsHtml(schema: Schema): Html {
  const { minLength, maxLength, minimum, maximum, minItems, maxItems, pattern } = schema
  const limits = [
    range(minLength, maxLength, 'characters'),
    range(minimum, maximum, ''),
    range(minItems, maxItems, 'items'),
    pattern === undefined ? undefined : html`matches <code>${pattern}</code>`,
    schema.default === undefined ? undefined : html`<code>${JSON.stringify(schema.default)}</code> unless given`,
  ].filter((limit) => limit !== undefined)
  return limits.length === 0 ? html`` : html`<small>${joined(limits, '; ')}</small>`
}

function range(least: number | undefined, most: number | undefined, unit: string): string | undefined {
  if (least === undefined && most === undefined) return undefined
  if (least === undefined) return `at most ${most} ${unit}`
  return most === undefined ? `at least ${least} ${unit}` : `${least} to ${most} ${unit}`
}

/** Renders the fields of a schema. A field with a named type links to that type. */
export function fieldsHtml(schema: Schema): Html {
  if (schema.items !== undefined) return fieldsHtml(schema.items)
  const variants = schema.oneOf ?? schema.anyOf
  if (variants !== undefined) return html`${variants.map(variantHtml)}`
  const { properties, required = [] } = schema
  if (properties === undefined) return html``
  return html`<dl>
    ${Object.entries(properties).map(([name, field]) => fieldHtml(name, field, required.includes(name)))}
  </dl>`
}

/** Renders an entry of the page: one line, and content that is folded until the page's script or its reader opens it. */
export const entryHtml = (id: string, line: Html, content: Html): Html =>
  html`<article id="${id}">
    <details>
      <summary>${line}</summary>
      ${content}
    </details>
  </article>`

/** Renders one field or parameter. */
export const fieldHtml = (name: string, field: Schema, required: boolean, place?: string): Html =>
  html`<dt>
      <code class="name">${name}</code> ${place === undefined ? '' : html`<em>${place}</em>`} ${typeHtml(field)}
      ${required ? html`<em class="required">required</em>` : ''}
    </dt>
    <dd>${prose(field.description)} ${limitsHtml(field)} ${fieldsHtml(field)}</dd>`

/** Renders one variant of a union, named by its `type` if it has one. */
function variantHtml(variant: Schema): Html {
  const names = variant.properties?.['type']?.enum
  const fields = fieldsHtml(variant)
  if (names === undefined) return fields
  return html`<details>
    <summary>
      ${joined(
        names.map((name) => html`<code>${name}</code>`),
        ', ',
      )}
      ${prose(variant.description)}
    </summary>
    ${fields}
  </details>`
}
