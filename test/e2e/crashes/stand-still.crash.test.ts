import { localBackend } from '../backend/local-backend.ts'
import { inCi } from './in-ci.ts'
import { scenarios } from './scenarios.ts'
import { standStillOn } from './stand-still.ts'

standStillOn(
  localBackend,
  inCi(scenarios.filter(({ name }) => ['parallel', 'approval', 'steer', 'silent'].includes(name))),
)
