/*
 * Draws random comments and test names for judgement by readers, and mixes them with those of other projects:
 *
 *   node audit/plain-words/draw-sample.ts OUTPUT [CONTROLS] [COMMIT]
 *
 * Writes the texts to OUTPUT.txt, without their origin, and the origin of each number to OUTPUT.key. CONTROLS is a folder
 * with clones of the other projects. How often a reader flags their texts shows how strict the reader is. The seed is the
 * commit's hash. The files are those of the checkout, so check the commit out first.
 */
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { parseSync } from 'oxc-parser'
import { sentencesOfCode } from '../../test/conventions/plain-words/sentences.ts'
import { createDice } from '../dice.ts'

const COUNTS = { comments: 150, names: 60, controlComments: 60, controlNames: 24 }
/** Lines of code that are shown after a comment. */
const CODE_LINES = 6

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim()
const [output, controls, commit = 'HEAD'] = process.argv.slice(2)
if (output === undefined)
  throw new Error('name the output: node audit/plain-words/draw-sample.ts OUTPUT [CONTROLS] [COMMIT]')
const hash = git('rev-parse', commit)
const dice = createDice(Number.parseInt(hash.slice(0, 8), 16))

/** A drawn text. `key`: its file and line, and the name if it is a test's. */
interface Text {
  readonly origin: 'ours' | 'control'
  readonly key: string
  readonly shown: string
}

const ourFiles = git('ls-files', '*.ts', '*.tsx', '*.mjs')
  .split('\n')
  .filter((path) => !path.startsWith('test/fixtures/') && !path.startsWith('built/') && !path.endsWith('.d.ts'))
  .toSorted()
const controlFiles = (pattern: string): string[] =>
  controls === undefined ? [] : globSync(`${controls}/${pattern}`).filter(isWritten).toSorted()
const isWritten = (path: string): boolean => !path.endsWith('.d.ts') && !/generated|\/gen\/|node_modules/.test(path)

/** Returns the comments of the files, each with the code that follows it. */
function commentsIn(origin: Text['origin'], paths: readonly string[]): Text[] {
  return paths.flatMap((path) => {
    const shown = commentsByLine(path)
    const lines = new Set(sentencesOfCode(path).flatMap(({ kind, line }) => (kind === 'comment' ? [line] : [])))
    return [...lines].map((line) => ({ origin, key: `${path}:${line}`, shown: shown.get(line) ?? '' }))
  })
}

/** Returns the complete comments of a file by their first line. Line comments on consecutive lines are one comment. */
function commentsByLine(path: string): Map<number, string> {
  const source = readFileSync(path, 'utf8')
  const lines = source.split('\n')
  const lineOf = (offset: number): number => source.slice(0, offset).split('\n').length
  const spans: { begin: number; end: number; isAlone: boolean }[] = []
  for (const { type, start, end } of parseSync(path, source).comments) {
    const begin = lineOf(start)
    const isAlone = type === 'Line' && lines[begin - 1]?.trimStart().startsWith('//') === true
    const last = spans.at(-1)
    if (isAlone && last?.isAlone === true && last.end === begin - 1) last.end = begin
    else spans.push({ begin, end: lineOf(end), isAlone })
  }
  return new Map(spans.map(({ begin, end }) => [begin, lines.slice(begin - 1, end + CODE_LINES).join('\n')]))
}

/** Returns the names of tests as a report shows them: the names of the suites, then the test's own name. */
function namesIn(origin: Text['origin'], paths: readonly string[]): Text[] {
  return paths.flatMap((path) =>
    sentencesOfCode(path)
      .filter(({ kind, isSuite }) => kind === 'test name' && isSuite === false)
      .map(({ line, suites = [], text }) => ({
        origin,
        key: `${path}:${line}`,
        shown: [...suites, text].join(' > '),
      })),
  )
}

/** Draws `count` of the items at random. No item is drawn twice. */
function draw<Item>(from: readonly Item[], count: number): Item[] {
  const remaining = [...from]
  const drawn: Item[] = []
  while (drawn.length < count && remaining.length > 0) {
    const item = dice.pick(remaining)
    remaining.splice(remaining.indexOf(item), 1)
    drawn.push(item)
  }
  return drawn
}

const shuffled = (texts: readonly Text[]): Text[] => draw(texts, texts.length)
const comments = shuffled([
  ...draw(commentsIn('ours', ourFiles), COUNTS.comments),
  ...draw(
    commentsIn('control', controlFiles('**/src/**/*.ts')).filter(({ shown }) => !shown.includes('Copyright')),
    COUNTS.controlComments,
  ),
])
const names = shuffled([
  ...draw(namesIn('ours', ourFiles), COUNTS.names),
  ...draw(namesIn('control', controlFiles('**/*.test.ts')), COUNTS.controlNames),
])

writeFileSync(
  `${output}.txt`,
  [
    ...comments.map(({ shown }, index) => `## C${index + 1}\n\`\`\`ts\n${shown}\n\`\`\`\n`),
    ...names.map(({ shown }, index) => `N${index + 1}. ${shown}`),
  ].join('\n'),
)
writeFileSync(
  `${output}.key`,
  [
    ...comments.map(({ origin, key }, index) => `C${index + 1}\t${origin}\t${key}`),
    ...names.map(({ origin, key }, index) => `N${index + 1}\t${origin}\t${key}`),
  ].join('\n'),
)
