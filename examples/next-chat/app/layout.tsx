import type { Metadata } from 'next'
import type { ReactNode } from 'react'
import { Sessions } from './sessions'
import './style.css'

export const metadata: Metadata = { title: 'Chat' }

export default function Layout({ children }: { readonly children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <Sessions />
        <main>{children}</main>
      </body>
    </html>
  )
}
