/** Saves a file that was fetched with a key. */
export function saveAs(blob: Blob, name: string): void {
  const link = document.createElement('a')
  // No browser opens a file of this type.
  link.href = URL.createObjectURL(blob.slice(0, blob.size, 'application/octet-stream'))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
