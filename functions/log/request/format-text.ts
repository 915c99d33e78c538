import type { JsonFormat } from '../../domain/runs/request-settings.ts'

/**
 * Instructions for a model whose provider does not accept the format as a parameter. Equal formats give equal texts.
 */
export const formatInstructions = (format: JsonFormat): string =>
  format.type === 'json_object'
    ? `${ONLY_JSON} It must be a JSON object.`
    : `${ONLY_JSON} It must fit this JSON Schema (${titleOf(format)}):\n${JSON.stringify(format.schema)}`

const titleOf = ({ name, description }: { readonly name: string; readonly description?: string | undefined }): string =>
  description === undefined ? name : `${name}: ${description}`

const ONLY_JSON =
  'Your final answer must be JSON and nothing else: no Markdown, no code fence, no text before or after it. You may call tools before.'

/** Returns the message that asks a model to answer again, because its answer does not fit the format. */
export const faultsText = (faults: readonly string[]): string =>
  ['Your answer does not fit the required format:', ...faults, 'Answer again, with the corrected JSON only.'].join('\n')
