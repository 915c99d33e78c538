import { inFile } from './mutant.ts'

/** Mutants of process locks on one machine, and of leases that name a process. */
export const PROCESS_MUTANTS = [
  ...inFile('functions/adapters/sqlite/process-lock.ts', [
    ['a removed file counts as locked', '!existsSync(path)', "path === ''"],
    ['a lock is lost to the garbage collector', '      held.add(lock)\n', ''],
    ['a lock excludes no other', 'BEGIN EXCLUSIVE', 'BEGIN'],
    [
      'a file is removed before its process is visited',
      '      work(id)\n      rmSync(path, { force: true })\n',
      '      rmSync(path, { force: true })\n      work(id)\n',
    ],
  ]),
  ...inFile('functions/adapters/sqlite/log/runs/process-leases.ts', [
    ['a lease names no process', '=>\n  process === undefined ?', "=>\n  process !== '' ?"],
    ['the leases of all processes expire', '`${process}:*`', '`*${process.slice(36)}`'],
    ['a session with an expired lease is not due', 'due = min(due, ?)', 'due = max(due, ?)'],
    ['an expired lease counts as released', 'SET leaseUntil = 0', 'SET leaseOwner = NULL, leaseUntil = NULL'],
  ]),
  ...inFile('functions/runtime/local/live-process.ts', [
    ['a lock is released although a lease is held', ' && !holdsLeases(database, lock.id)', ''],
    [
      'the leases of ended processes stay',
      'const leases = expireLeases(database, id, clock.now())',
      'const leases = id.length - 36',
    ],
  ]),
]
