import type { ComponentChildren } from 'preact'
import { useErrorBoundary } from 'preact/hooks'

/** Its children; what they show as JSON, if they cannot be rendered. Nothing else of the page breaks with them. */
export function Unbroken({ shows, children }: { readonly shows: object; readonly children: ComponentChildren }) {
  const [error] = useErrorBoundary() as readonly unknown[]
  if (error === undefined) return <>{children}</>
  return <pre class="plain">{JSON.stringify(shows, undefined, 2)}</pre>
}
