/*
 * The known frames of the four stream formats, including those that we ignore. The provider packages silently drop all other
 * frames. If a completion had only unknown frames, it would look like a stream that was cut off.
 */

type Fields = { readonly [name: string]: unknown }

/** Types of events of the Messages API and the Responses API. */
const TYPES =
  /^(?:ping$|error$|message_|content_block_|response\.(?:created|queued|in_progress|completed|incomplete|failed|output_|content_part|refusal|function_call_arguments|reasoning|custom_tool_call|web_search_call|file_search_call|code_interpreter_call|image_generation_call|mcp_|computer|shell|apply_patch|audio)|keepalive$)/
/** Events of Bedrock's ConverseStream. */
const EVENTS = /^(?:message(?:Start|Stop)|contentBlock(?:Start|Delta|Stop)|metadata|\w+Exception)$/
/** Fields of a chunk of Chat Completions, of a choice, and of a delta. */
const CHOICE = new Set([
  'index',
  'delta',
  'finish_reason',
  'native_finish_reason',
  'logprobs',
  'content_filter_results',
])
const DELTA = new Set([
  ...[
    'role',
    'content',
    'refusal',
    'reasoning',
    'reasoning_content',
    'reasoning_details',
    'tool_calls',
    'function_call',
  ],
  ...['extra_content', 'annotations', 'audio', 'provider_specific_fields'],
])

/**
 * Whether a frame has a known form. A frame that is not a JSON object counts as known, because it is a damaged frame and not
 * another format.
 */
export function isKnownFrame(frame: unknown): boolean {
  if (!isFields(frame) || frame['error'] !== undefined) return true
  if (Array.isArray(frame['choices'])) return frame['choices'].every(isKnownChoice)
  if (typeof frame['type'] === 'string') return TYPES.test(frame['type'])
  return frame['usage'] !== undefined || Object.keys(frame).some((name) => EVENTS.test(name))
}

function isKnownChoice(choice: unknown): boolean {
  if (!isFields(choice)) return false
  const { delta } = choice
  return hasOnly(choice, CHOICE) && (!isFields(delta) || hasOnly(delta, DELTA))
}

/** Whether each field that has a value is one of `names`. */
const hasOnly = (fields: Fields, names: ReadonlySet<string>): boolean =>
  Object.entries(fields).every(([name, value]) => names.has(name) || value === null || value === '')

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
