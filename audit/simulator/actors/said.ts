import type { ModelRequest } from '../../../functions/domain/model-request.ts'

/** Matches the name in an input's text, which is JSON. Inputs of members have other names, which do not match. */
const INPUT = /"name":"(i\d+)"/g

/** Returns the names of the inputs in a text, in order. */
export const namesIn = (text: string): string[] => [...text.matchAll(INPUT)].map(([, name = '']) => name)

/** Returns the texts of the user messages in a request. */
export const saidIn = ({ messages }: ModelRequest): string[] =>
  messages.flatMap(({ role, parts }) =>
    role === 'user' ? parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])) : [],
  )

/**
 * Returns the model's answer to a request for a summary: the names of all inputs. The names in the previous summary
 * come first.
 */
export const summaryOf = (request: ModelRequest): string =>
  saidIn(request)
    .flatMap((text) => {
      const [former = '', conversation = ''] = text.split('<conversation>')
      const lines = conversation.split('\n').filter((line) => line.startsWith('USER: '))
      return [...namesIn(former), ...lines.flatMap(namesIn)]
    })
    .map((name) => `"name":"${name}"`)
    .join(' ')
