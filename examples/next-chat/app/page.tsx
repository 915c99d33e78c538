import { redirect } from 'next/navigation'

export const dynamic = 'force-dynamic'

/** Starts a new chat. */
export default function Page() {
  redirect(`/chat/${crypto.randomUUID()}`)
}
