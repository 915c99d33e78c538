import type { ComponentChildren } from 'preact'
import { useErrorBoundary } from 'preact/hooks'

/**
 * Renders its children. If rendering fails, shows the data in `shows` as JSON, so that the rest of the page still
 * works.
 */
export function Unbroken({ shows, children }: { readonly shows: object; readonly children: ComponentChildren }) {
  const [error] = useErrorBoundary() as readonly unknown[]
  if (error === undefined) return <>{children}</>
  return <pre class="plain">{JSON.stringify(shows, undefined, 2)}</pre>
}
