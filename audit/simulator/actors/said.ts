import type { ModelRequest } from '../../../functions/domain/model-request.ts'

/** Inputs travel as JSON that begins with their name; those of members are called differently. */
const INPUT = /"name":"(i\d+)"/g

/** The inputs that a text tells of, in its order. */
export const namesIn = (text: string): string[] => [...text.matchAll(INPUT)].map(([, name = '']) => name)

/** What people are said to have said in a request. */
export const saidIn = ({ messages }: ModelRequest): string[] =>
  messages.flatMap(({ role, parts }) =>
    role === 'user' ? parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])) : [],
  )

/** What a model makes of a request for a summary: the inputs that it is told of, those of the former summary first. */
export const summaryOf = (request: ModelRequest): string =>
  saidIn(request)
    .flatMap((text) => {
      const [former = '', conversation = ''] = text.split('<conversation>')
      const lines = conversation.split('\n').filter((line) => line.startsWith('USER: '))
      return [...namesIn(former), ...lines.flatMap(namesIn)]
    })
    .map((name) => `"name":"${name}"`)
    .join(' ')
