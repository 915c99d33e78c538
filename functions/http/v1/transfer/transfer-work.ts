import type { z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Caller } from '../../../access/caller.ts'
import type { Session } from '../../../domain/session.ts'
import type { AppEnv, RouteDependencies } from '../../dependencies.ts'
import { exported } from './export-lines.ts'
import { fork } from '../sessions/fork-request.ts'
import { importInto } from './import-request.ts'
import type { ImportDependencies } from './import-request.ts'
import type { exportQuery, importQuery, ImportSchema, newFork, newImport } from './schema.ts'

/** The work of the transfer routes, in one module that is imported with the first request. */
export const transferWork = (dependencies: RouteDependencies & ImportDependencies) => ({
  exported: (session: Session, query: z.output<typeof exportQuery>) => exported(dependencies, session, query),
  importInto: (
    session: Session,
    c: Context<AppEnv>,
    query: z.output<typeof importQuery>,
    body: z.output<typeof newImport>,
  ): Promise<z.input<typeof ImportSchema>> => importInto(dependencies, session, c, query, body),
  fork: (caller: Caller, from: Session, body: z.output<typeof newFork>): Promise<Session> =>
    fork(dependencies, caller, from, body),
})
