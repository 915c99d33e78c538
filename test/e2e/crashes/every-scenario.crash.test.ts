import { isCi } from '../../is-ci.ts'
import { localBackend } from '../backend/local-backend.ts'
import { everyStepOn } from './every-step.ts'
import { inCi } from './in-ci.ts'
import { scenarios } from './scenarios.ts'

// What ends after a step leaves what one leaves that ends before the next: in CI every second scenario is tried so, the others so.
everyStepOn(localBackend, inCi(scenarios.filter(({ name }) => name !== 'parallel')), (place) =>
  isCi ? [place % 2 === 0 ? 'before' : 'after'] : ['before', 'after'],
)
