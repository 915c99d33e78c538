import type { ComponentChildren } from 'preact'
import { ApiProblem } from '../../functions/client/problem.ts'

/** Shows a thrown error to people. */
export function Failure({ error, children }: { readonly error: unknown; readonly children?: ComponentChildren }) {
  return <Problem {...describeFailure(error)}>{children}</Problem>
}

/** Shows an error: a sentence for people, and collapsed details for support. */
export function Problem(props: {
  readonly text: string
  /** Details such as a code. */
  readonly details: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="failure" role="alert">
      <p>
        {asSentence(props.text)} {props.children}
      </p>
      <details>
        <summary>Details</summary>
        <code>{props.details}</code>
      </details>
    </div>
  )
}

export const isNotFound = (error: unknown): boolean => error instanceof ApiProblem && error.code === 'session_not_found'

const UNREACHABLE =
  'Tooltrail does not respond. Check that the program is running and that you are online, then try again.'
/** Sentences by error code, for errors whose own text is meant for programs. */
const SENTENCES: { readonly [code: string]: string } = {
  session_not_found: 'This session does not exist. It may have been deleted.',
  not_forkable: 'This session has no run that has ended, so there is nothing to copy yet.',
}

/** Returns the sentence and the details of a thrown error. */
function describeFailure(error: unknown): { readonly text: string; readonly details: string } {
  // `fetch` throws a TypeError if there was no response.
  if (error instanceof TypeError) return { text: UNREACHABLE, details: `unreachable: ${error.message}` }
  if (!(error instanceof ApiProblem))
    return { text: 'Something unexpected happened on this page. Load it again.', details: String(error) }
  const { code, problem } = error
  const details = [code, ...(problem.request_id === '' ? [] : [`request ${problem.request_id}`])].join(', ')
  const sentence = SENTENCES[code]
  if (sentence !== undefined) return { text: sentence, details }
  const faults = (problem.errors ?? []).map(
    ({ path, message }) => `${path.replace(/^(?:query|body)\./, '')} ${message}`,
  )
  return { text: faults.length === 0 ? error.message : faults.join('; '), details }
}

/**
 * Adds a capital letter and a full stop. If the text begins with a name, such as a file's, its first letter is
 * unchanged.
 */
function asSentence(text: string): string {
  const begun = /^[a-z]+\s/.test(text) ? text.slice(0, 1).toUpperCase() + text.slice(1) : text
  return /[.!?…:)]$/.test(begun) ? begun : `${begun}.`
}
