import { localBackend } from '../local-backend.ts'
import { scenarios } from './scenarios.ts'
import { standStillOn } from './stand-still.ts'

standStillOn(
  localBackend,
  scenarios.filter(({ name }) => ['parallel', 'approval', 'steer'].includes(name)),
)
