import { Conversation } from '../../conversation'

export default async function Page({ params }: { readonly params: Promise<{ readonly id: string }> }) {
  const { id } = await params
  return <Conversation key={id} id={id} />
}
