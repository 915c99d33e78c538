import type { RefusedSize } from '../../../ports/model.ts'
import { definedFields } from '../../../domain/defined-fields.ts'

/*
 * Each provider has its own error message for a request that is too long. The patterns are from public messages of Anthropic, OpenAI,
 * Bedrock, Gemini, Mistral, DeepSeek, Groq, GitHub Copilot, MiniMax, vLLM, SGLang, Ollama and LM Studio. Others are named below.
 */

const SENTENCES: readonly RegExp[] = [
  /context.?(?:length|window|limit)|maximum context|reduce the length/i,
  /(?:prompt|input) (?:is )?too (?:long|large)|too many (?:input )?tokens|token limit exceeded/i,
  /exceeds? the (?:maximum|limit|model)[^.]*token|token count\b[^.]{0,40}exceeds/i,
  // llama.cpp: "the request exceeds the available context size", "request (9001 tokens) exceeds …", "Context size has been exceeded"
  /context size[^.]{0,20}exceeded|exceeds?[^.]{0,20} context size/i,
  // xAI: "This model's maximum prompt length is 131072 but the request contains 136973 tokens."
  /maximum prompt length/i,
  // Moonshot: "Your request exceeded model token limit: 8192", "model max length exceeded, max length:8192"
  /exceeded model token limit|model max length exceeded/i,
  // Z.ai: "Prompt exceeds max length"
  /prompt exceeds (?:the )?max(?:imum)?\b/i,
  // TGI: "`inputs` must have less than 4096 tokens. Given: 9001", "`inputs` tokens + `max_new_tokens` must be <= 2048"
  /must have less than \d+ tokens|tokens \+ `?max_new_tokens`? must be/i,
  // Volcano Engine: "Input length 203743 exceeds the maximum length 202752". DashScope: "Range of input length should be [1, 30720]"
  /input length \d+ exceeds|range of input length/i,
]

/**
 * Matches error codes and types: those of OpenAI and compatible servers, llama.cpp, Z.ai (1261) and gateways, and Anthropic's
 * stop reason.
 */
const CODES =
  /"(?:code|type|error_type)"\s*:\s*"?(?:context_length_exceeded|exceed_context_size_error|context_window_exceeded|model_context_window_exceeded|prompt_too_long|1261)\b/i

/** Matches an error about the requested output tokens. A shorter conversation would not help. */
const OUTPUT = /\bmax_(?:completion_|output_)?tokens[^`+]{0,25}(?:must be|exceeds|is too large|cannot)/i

/** Whether a refusal says that the request is too long for the model. `text`: the refusal's message and body. */
export function saysTooLong(text: string): boolean {
  const sum = sumIn(withoutCommas(text))
  // If the output alone fills the context, a shorter conversation would not help.
  if (sum !== undefined) return sum.maxTokens >= MIN_LIMIT
  return CODES.test(text) || (!OUTPUT.test(text) && SENTENCES.some((sentence) => sentence.test(text)))
}

const withoutCommas = (text: string): string => text.replaceAll(/(\d),(?=\d{3}\b)/g, '$1')

/**
 * Patterns of errors that name three numbers: the request's tokens, its output's tokens, and the model's context. The
 * context must hold both the request and the output.
 */
const SUMS: readonly RegExp[] = [
  // OpenAI: "you requested 9001 tokens (7001 in the messages, 2000 in the completion)", "(7001 in your prompt; 2000 for the completion)"
  /context length is (?<context>\d+)[^(]*requested (?<all>\d+) tokens \([^)]*?(?<output>\d+) (?:in|for) the completion/i,
  // vLLM: "maximum context length is 8192 tokens and your request has 7001 input tokens (2000 > 8192 - 7001)"
  /context length is (?<context>\d+) tokens and your request has (?<input>\d+) input tokens \((?<output>\d+) >/i,
  // Anthropic: "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"
  /context limit: (?<input>\d+) \+ (?<output>\d+) > (?<context>\d+)/i,
  // TGI: "must be <= 2048. Given: 1990 `inputs` tokens and 60 `max_new_tokens`"
  /must be <= ?(?<context>\d+)\. Given: (?<input>\d+) `inputs` tokens and (?<output>\d+) `max_new_tokens`/i,
]

/**
 * Returns the tokens of the request without its output, and the maximum of these tokens: the context minus the output.
 */
function sumIn(text: string): Required<Pick<RefusedSize, 'maxTokens' | 'tokens'>> | undefined {
  const groups = SUMS.map((sentence) => sentence.exec(text)?.groups).find((found) => found !== undefined)
  if (groups === undefined) return undefined
  const [context, output, all, input] = ['context', 'output', 'all', 'input'].map((name) => Number(groups[name] ?? 0))
  return { maxTokens: (context ?? 0) - (output ?? 0), tokens: input || (all ?? 0) - (output ?? 0) }
}

const MAX_TOKENS: readonly RegExp[] = [
  /(?:\d|tokens) > (\d+)/,
  /"n_ctx"\s*:\s*(\d+)/i,
  /context (?:size|length|window|limit)\D{0,25}(\d+)/i,
  /prompt length is (\d+)/i,
  /token limit:? (\d+)/i,
  /less than (\d+) tokens|<= ?(\d+)/i,
  /tokens allowed \(?(\d+)/i,
  /max(?:imum)? length:? ?(?:is |of )?(\d+)|limit of (\d+)/i,
  /input length should be \[1, (\d+)\]/i,
]
const TOKENS: readonly RegExp[] = [
  /"n_prompt_tokens"\s*:\s*(\d+)/i,
  /\((\d+) in (?:the messages|your prompt)/i,
  /request \((\d+) tokens\)|request contains (\d+)|resulted in (\d+)|requested:? (?:about )?(\d+)/i,
  /given: (\d+)|(\d+) tokens >|token count (?:of |is )?\(?(\d+)|input length (\d+)|input \((\d+) tokens\)/i,
]
const [MIN_LIMIT, MAX_LIMIT] = [256, 100_000_000]

/** Returns the numbers in a refusal, and whether it has a known error code. */
export function refusedSizeIn(text: string): RefusedSize {
  const plain = withoutCommas(text)
  const sum = sumIn(plain)
  const limit = sum?.maxTokens ?? firstNumber(plain, MAX_TOKENS)
  const maxTokens = limit !== undefined && limit >= MIN_LIMIT && limit <= MAX_LIMIT ? limit : undefined
  const named = sum?.tokens ?? firstNumber(plain, TOKENS)
  // A number within the limit is not the refused size: the number excludes the output, or has another meaning.
  const tokens = named !== undefined && maxTokens !== undefined && named > maxTokens ? named : undefined
  return definedFields({ maxTokens, tokens, isCoded: CODES.test(text) ? (true as const) : undefined })
}

function firstNumber(text: string, patterns: readonly RegExp[]): number | undefined {
  for (const pattern of patterns) {
    const found = pattern
      .exec(text)
      ?.slice(1)
      .find((group) => group !== undefined)
    if (found !== undefined) return Number(found)
  }
  return undefined
}
