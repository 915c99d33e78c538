const WORDS =
  `the of and to in is you that it he was for on are as with his they at be this have from or one had by word but not what
all were we when your can said there use an each which she do how their if will up other about out many then them these so some her
would make like him into time has look two more write go see number no way could people my than first water been call who oil its now
find long down day did get come made may part table index query latency shard bucket lambda session replay ledger invoice customer
region deploy rollback alarm metric trace parser schema migration worker queue retry timeout gateway stream token prompt budget`.split(
    /\s+/,
  )

/** Generates plain words with occasional numbers and ids, like the results of tools. Equal seeds give equal texts. */
export const fillerText = (length: number, seed: number): string => {
  let text = ''
  let state = seed * 7_919 + 1
  while (text.length < length) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    text += `${state % 12 === 0 ? (state >>> 4).toString(36) : (WORDS[(state >>> 8) % WORDS.length] ?? '')} `
  }
  return text.slice(0, length)
}
