import { quantile } from '../report.ts'
import type { Engine } from './engines.ts'
import type { Half, QuestionSet } from './question-sets.ts'

/** The outcome of one question. */
export interface Answer {
  readonly kind: string
  readonly half: Half
  readonly text: string
  /** Rank of the first right hit, from 1. Infinity if it is not among the first twenty. */
  readonly rank: number
  readonly milliseconds: number
}

const DEPTH = 20

/** Asks all questions of a set. */
export async function askAll(engine: Engine, { questions }: QuestionSet): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const question of questions) {
    const begun = performance.now()
    const names = await engine.ask(question, DEPTH)
    const milliseconds = performance.now() - begun
    const place = names.findIndex((name) => question.relevant.has(name))
    const { kind, half, text } = question
    answers.push({ kind, half, text, rank: place === -1 ? Infinity : place + 1, milliseconds })
  }
  return answers
}

export interface Figures {
  readonly questions: number
  readonly hit1: number
  readonly hit10: number
  readonly hit20: number
  /** Mean reciprocal rank within the first twenty hits. */
  readonly mrr: number
  readonly p50: number
  readonly p95: number
}

/** Summarises answers. */
export function figuresOf(answers: readonly Answer[]): Figures {
  const share = (within: number): number => answers.filter(({ rank }) => rank <= within).length / answers.length
  const times = answers.map(({ milliseconds }) => milliseconds)
  return {
    questions: answers.length,
    hit1: share(1),
    hit10: share(10),
    hit20: share(20),
    mrr: answers.reduce((sum, { rank }) => sum + 1 / rank, 0) / answers.length,
    p50: quantile(times, 0.5),
    p95: quantile(times, 0.95),
  }
}
