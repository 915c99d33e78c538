/*
 * Prints random comments and test names for judgement by readers. The seed is a commit's hash:
 *
 *   node audit/plain-words/draw-sample.ts [COMMIT] [COMMENTS] [TEST_NAMES]
 *
 * The files are those of the checkout, so check the commit out first. Each comment and name is complete, with file and line.
 */
import { execFileSync } from 'node:child_process'
import { sentencesOfCode } from '../../test/conventions/plain-words/sentences.ts'
import { createDice } from '../dice.ts'

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim()
const [commit = 'HEAD', comments = 150, testNames = 60] = process.argv.slice(2)
const hash = git('rev-parse', commit)
const dice = createDice(Number.parseInt(hash.slice(0, 8), 16))

const sentences = git('ls-files', '*.ts', '*.tsx', '*.mjs')
  .split('\n')
  .filter((path) => !path.startsWith('test/fixtures/') && !path.startsWith('built/') && !path.endsWith('.d.ts'))
  .toSorted()
  .flatMap((path) => sentencesOfCode(path))

/** Returns complete comments: the sentences of one comment are joined. */
function wholeComments(): string[] {
  const comments = new Map<string, string>()
  for (const { path, line, text } of sentences.filter(({ kind }) => kind === 'comment')) {
    const key = `${path}:${line}`
    const before = comments.get(key)
    comments.set(key, before === undefined ? text : `${before} ${text}`)
  }
  return [...comments].map(([key, text]) => `${key} — ${text}`)
}

/** Returns the names of tests as a report shows them: the names of the suites, then the test's own name. */
function fullTestNames(): string[] {
  return sentences
    .filter((sentence) => sentence.kind === 'test name' && sentence.isSuite === false)
    .map(({ path, line, suites = [], text }) => `${path}:${line} — ${[...suites, text].join(' > ')}`)
}

/** Draws `count` of the texts at random. No text is drawn twice. */
function draw(from: readonly string[], count: number): string[] {
  const remaining = [...from]
  const drawn: string[] = []
  while (drawn.length < count && remaining.length > 0) {
    const text = dice.pick(remaining)
    remaining.splice(remaining.indexOf(text), 1)
    drawn.push(text)
  }
  return drawn
}

for (const [title, all, count] of [
  ['Comments', wholeComments(), comments],
  ['Test names', fullTestNames(), testNames],
] as const) {
  console.log(`## ${title}: ${count} of ${all.length}, seed ${hash}\n`)
  for (const [index, text] of draw(all, Number(count)).entries()) console.log(`${index + 1}. ${text}`)
  console.log('')
}
