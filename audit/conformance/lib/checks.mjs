import { writeFileSync } from 'node:fs'
import { argument, flag } from './options.mjs'
import { usedPackages } from './packages.mjs'

const results = []
/** Records a check. `expected`: why it may fail, according to the program's documents. */
export function record(name, held, detail = '', expected = '') {
  results.push({ name, held, expected })
  console.log(
    `${held ? 'ok' : expected ? 'expected' : 'FAIL'} ${name}${detail ? `: ${String(detail).replace(/\s+/g, ' ').slice(0, 600)}` : ''}${!held && expected ? ` [${expected}]` : ''}`,
  )
}
/** Runs a check. The check holds if `body` ends within the limit without an error. */
export async function check(name, body, { limit = 60_000, expected = '' } = {}) {
  const only = argument('only', '')
  if (only && !name.includes(only)) return
  let timer
  try {
    const detail = await Promise.race([
      body(),
      new Promise((_, no) => {
        timer = setTimeout(() => no(new Error(`not done in ${limit / 1000} s`)), limit)
      }),
    ])
    record(name, true, detail ?? '')
  } catch (error) {
    record(name, false, error?.stack && flag('verbose') ? error.stack : (error?.message ?? error), expected)
  } finally {
    clearTimeout(timer)
  }
}
export function is(condition, why) {
  if (!condition) throw new Error(why)
}
export const same = (got, want, what) =>
  is(
    JSON.stringify(got) === JSON.stringify(want),
    `${what}: ${JSON.stringify(got)?.slice(0, 300)} instead of ${JSON.stringify(want)?.slice(0, 300)}`,
  )
/** Prints the counts, writes the results to the file of `--results`, and exits with 1 if a check failed. */
export async function finish(suite, ...closers) {
  for (const close of closers)
    await Promise.resolve()
      .then(close)
      .catch((error) => console.error(error.message))
  const count = (test) => results.filter(test).length
  console.log(
    `${suite}: ${results.length} applied, ${count((r) => r.held)} passed, ${count((r) => !r.held && !r.expected)} failed, ${count((r) => !r.held && r.expected)} expected`,
  )
  if (argument('results'))
    writeFileSync(argument('results'), JSON.stringify({ suite, packages: usedPackages, checks: results }))
  process.exit(count((r) => !r.held && !r.expected) ? 1 : 0)
}
/**
 * Records the checks that a Python program printed as lines `ok|FAIL NAME: DETAIL`. `expected` lists the checks that
 * may fail: for each, a pattern of its name and the reason.
 */
export function take(prefix, { code, stdout, stderr }, expected = []) {
  const reason = (name) => expected.find(([pattern]) => pattern.test(name))?.[1] ?? ''
  let seen = 0
  for (const line of stdout.split('\n')) {
    const m = /^(ok|FAIL) (.+?): (.*)$/.exec(
      line.replace(
        /^(ok|FAIL) (error|ingress|ingress github|callback|responses parse|chat parse|CA|LG|CX): /,
        '$1 $2 · ',
      ),
    )
    if (m) {
      seen++
      record(`${prefix} ${m[2]}`, m[1] === 'ok', m[3], reason(m[2]))
    } else if (flag('verbose') && line) console.log(`  ${line}`)
  }
  if (!seen || (code !== 0 && code !== 1))
    record(`${prefix} (the program itself)`, false, `exit ${code}: ${stderr.slice(-1500)}`)
}
