// What the API server fills into and refuses of a Job, in its words (spec/trainjob.md §6.1; the
// recordings job-defaults-*, job-invalid-*, job-immutable-fields, job-suspended-*).
#pragma once

#include "objects/batch_v1.hpp"
#include "objects/validation.hpp"

namespace ddptwin {

void default_job(Job& job);
// The selector of a Job that says none itself, and the labels of its pods. Its uid must be known.
void generate_selector(Job& job);
ErrorList validate_job(const Object& object);
ErrorList validate_job_update(const Object& updated, const Object& old);
ErrorList validate_job_status_update(const Object& updated, const Object& old);
// Of a Job's spec, wherever it stands; the fields begin with "spec".
ErrorList validate_job_spec(const JobSpec& spec);

}  // namespace ddptwin
