import type { ComponentChildren } from 'preact'
import { ApiProblem } from '../../functions/client/problem.ts'

/** Something that was thrown, with its code. */
export function Failure({ error, children }: { readonly error: unknown; readonly children?: ComponentChildren }) {
  return <Problem {...failureOf(error)}>{children}</Problem>
}

/** Something that went wrong, with its code. */
export function Problem(props: {
  readonly code: string
  readonly text: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="failure" role="alert">
      <code>{props.code}</code> <span>{props.text}</span> {props.children}
    </div>
  )
}

function failureOf(error: unknown): { readonly code: string; readonly text: string } {
  if (!(error instanceof ApiProblem)) return { code: 'unreachable', text: String(error) }
  const more = (error.problem.errors ?? [])
    .map(({ path, message }) => `${path} ${message}`)
    .filter((text) => !error.message.includes(text))
  return { code: error.code, text: [error.message, ...more].join('; ') }
}
