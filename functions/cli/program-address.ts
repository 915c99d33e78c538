/** What keeps a text from being the address of a program, for a sentence about it; undefined if it is one. */
export function addressFault(text: string): string | undefined {
  const address = URL.parse(text)
  if (address === null || !/^https?:$/.test(address.protocol))
    return 'must be an http or https address such as https://api.example.com'
  if (address.username + address.password + address.search + address.hash !== '')
    return 'must be the address alone, without a name, a password, ? and #'
  return undefined
}
