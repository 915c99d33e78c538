interface Raw {
  readonly Resources: Readonly<
    Record<string, { readonly Type: string; readonly Properties?: Readonly<Record<string, unknown>> }>
  >
}

/** Replaces each alias by its function, because only the newest version exists here. */
export function withoutAliases(template: Raw): Raw {
  const aliases = Object.entries(template.Resources).filter(([, { Type }]) => Type === 'AWS::Lambda::Alias')
  const text = aliases.reduce((all, [id, { Properties = {} }]) => {
    const { Ref } = Properties['FunctionName'] as { readonly Ref: string }
    // `Ref` of an alias returns an ARN. Where only the name is needed, the template extracts the name from the ARN and appends
    // the alias name.
    const named = all.replaceAll(`":${String(Properties['Name'])}"`, '""')
    return named.replaceAll(`{"Ref":"${id}"}`, `{"Fn::GetAtt":["${Ref}","Arn"]}`)
  }, JSON.stringify(template))
  const { Resources, ...rest } = JSON.parse(text) as Raw
  const others = Object.entries(Resources).filter(([, { Type }]) => Type !== 'AWS::Lambda::Alias')
  return { ...rest, Resources: Object.fromEntries(others) }
}
